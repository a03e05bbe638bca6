// SPDX-License-Identifier: Apache-2.0
// The conductor's side of one run of a case, or of several cases at the same time: two worker
// processes each, their messages, their ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/clock.h"
#include "harness/report/document.h"
#include "harness/run/case.h"
#include "harness/run/company.h"
#include "transports/registry.h"

namespace gdrbench {

struct SessionRequest {
  const Registry& registry;
  const Case& testCase;
  const Clock& clock;
  std::string program;     ///< path of the executable that knows the hidden command `worker`
  std::string namePrefix;  ///< for names that could outlive a crash; unique to this run of the case
  std::uint64_t seed = 0;
  /// Told when a side enters a phase; may be empty.
  std::function<void(Role, std::string_view phase)> onPhase;
};

struct SessionResult {
  report::Run run;                ///< outcome, measurement, both sides' facts
  std::vector<double> samplesNs;  ///< raw samples, at most Case::rawSamples
  bool interrupted = false;       ///< a signal came to the conductor
  /// When its messages were measured, as the conductor saw it; nothing if it did not come to that.
  std::optional<TimeSpan> measured;
};

/// Starts the workers of each, sees the cases through and leaves no process behind. All begin to
/// warm up together, once everybody who still can is connected; a case that fails is not awaited,
/// and the others go on. Never fails as a call: whatever goes wrong is that run's outcome, with
/// both sides' views and the cause first. Results are in the order of the requests.
std::vector<SessionResult> runSessions(std::span<const SessionRequest> requests);

}  // namespace gdrbench
