// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"

#define GDR_LIBFABRIC(NAME, PROVIDER, OP)                             \
  GDR_CONFORMANCE("libfabric " NAME " " OP, .transport = "libfabric", \
                  .options = {{"provider", PROVIDER}, {"op", OP}}, .mayBeAbsent = true)

GDR_LIBFABRIC("tcp", "tcp", "send")
GDR_LIBFABRIC("tcp", "tcp", "write")
GDR_LIBFABRIC("tcp", "tcp", "read")
GDR_LIBFABRIC("tcp+ofi_rxm", "tcp;ofi_rxm", "send")
GDR_LIBFABRIC("tcp+ofi_rxm", "tcp;ofi_rxm", "write")
GDR_LIBFABRIC("tcp+ofi_rxm", "tcp;ofi_rxm", "read")
GDR_LIBFABRIC("shm", "shm", "send")
GDR_LIBFABRIC("shm", "shm", "write")
GDR_LIBFABRIC("shm", "shm", "read")
// In tests/soft-rdma only: there is no such device elsewhere in the tests.
GDR_LIBFABRIC("verbs+ofi_rxm", "verbs;ofi_rxm", "send")
GDR_LIBFABRIC("verbs+ofi_rxm", "verbs;ofi_rxm", "write")
GDR_LIBFABRIC("verbs+ofi_rxm", "verbs;ofi_rxm", "read")
