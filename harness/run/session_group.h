// SPDX-License-Identifier: Apache-2.0
// One case, or several at the same time: one wait for all of their worker processes.
#pragma once

#include <span>
#include <vector>

#include "harness/run/session.h"

namespace gdrbench {

/// Starts the workers of each, sees the cases through and leaves no process behind. All begin to
/// warm up together, once everybody who still can is connected; a case that fails is not awaited,
/// and the others go on. Never fails as a call: whatever goes wrong is that run's outcome, with
/// both sides' views and the cause first. Results are in the order of the requests.
std::vector<SessionResult> runSessions(std::span<const SessionRequest> requests);

}  // namespace gdrbench
