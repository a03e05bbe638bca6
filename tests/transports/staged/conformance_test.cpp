// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"
#include "tests/transports/staged/staged_subject.h"

#define GDR_STAGED(NAME, ...) \
  GDR_CONFORMANCE("staged " NAME, gdrbench::staged::subject({__VA_ARGS__}))
#define GDR_STAGED_LIBFABRIC(PROVIDER, OP)             \
  GDR_CONFORMANCE("staged libfabric " PROVIDER " " OP, \
                  gdrbench::staged::overLibfabric(PROVIDER, OP))

GDR_STAGED("loopback", {"over", "loopback"})
GDR_STAGED("loopback, one small chunk at a time", {"chunk", "4KiB"}, {"depth", "1"})
GDR_STAGED("loopback, odd numbers", {"chunk", "4100B"}, {"depth", "3"}, {"low_latency", "0B"})
GDR_STAGED("a wire that reorders", {"over", "faulty"}, {"inner", "reorder=true"},
           {"chunk", "64KiB"})
GDR_STAGED("a wire that takes one message at a time", {"over", "faulty"},
           {"inner", "short_submit=true"}, {"chunk", "64KiB"})
GDR_STAGED("tcp", {"over", "tcp"})
GDR_STAGED("tcp with small buffers and chunks", {"over", "tcp"}, {"chunk", "8KiB"}, {"depth", "4"},
           {"inner", "send_buffer=8KiB,receive_buffer=8KiB"})
GDR_STAGED_LIBFABRIC("tcp", "send")
GDR_STAGED_LIBFABRIC("tcp", "write")
GDR_STAGED_LIBFABRIC("shm", "send")
GDR_STAGED_LIBFABRIC("shm", "write")
