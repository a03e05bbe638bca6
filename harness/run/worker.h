// SPDX-License-Identifier: Apache-2.0
// The process in which one side of one case runs.
#pragma once

#include <string_view>

#include "transports/registry.h"
#include "transports/transport.h"

namespace gdrbench {

/// Called when a worker enters a phase. Fault tests stop or end the process there.
using PhaseHook = void (*)(Role role, std::string_view phase);

/// Speaks the control protocol over descriptor `fd` (owned from here on) until the case is over.
/// Answers the exit status: 0 when this side did its part, 1 when it failed and said so.
int runWorker(const Registry& registry, int fd, PhaseHook hook);

}  // namespace gdrbench
