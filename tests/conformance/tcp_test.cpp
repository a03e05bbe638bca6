// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"

GDR_CONFORMANCE("tcp", .transport = "tcp", .noticesPeerLoss = true)
GDR_CONFORMANCE("tcp with small buffers", .transport = "tcp",
                .options = {{"send_buffer", "8KiB"}, {"receive_buffer", "8KiB"}},
                .noticesPeerLoss = true)
