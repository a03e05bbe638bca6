// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"

GDR_CONFORMANCE("loopback", .transport = "loopback", .noticesPeerLoss = true)
GDR_CONFORMANCE("loopback with a small fifo", .transport = "loopback",
                .options = {{"fifo", "4KiB"}}, .noticesPeerLoss = true)
