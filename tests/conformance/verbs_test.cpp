// SPDX-License-Identifier: Apache-2.0
// Needs an RDMA device: here it is skipped, tests/soft-rdma/run runs it on soft-RoCE.
#include "tests/conformance/suite.h"

#define GDR_VERBS(NAME, ...)                                                     \
  GDR_CONFORMANCE("verbs " NAME, .transport = "verbs", .options = {__VA_ARGS__}, \
                  .mayBeAbsent = true)

GDR_VERBS("write", {"op", "write"})
GDR_VERBS("send", {"op", "send"})
GDR_VERBS("read", {"op", "read"})
GDR_VERBS("write over four queue pairs", {"op", "write"}, {"qps", "4"})
