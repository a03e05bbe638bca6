// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/faulty_transport.h"

#include "tests/conformance/suite.h"

namespace {
const gdrbench::Registry kWithFaulty = gdrbench::faulty::withFaulty();
}

GDR_CONFORMANCE("faulty over loopback without faults", .transport = "faulty",
                .noticesPeerLoss = true, .registry = &kWithFaulty)
GDR_CONFORMANCE("faulty over tcp with short submits", .transport = "faulty",
                .options = {{"over", "tcp"}, {"short_submit", "true"}}, .noticesPeerLoss = true,
                .registry = &kWithFaulty)
