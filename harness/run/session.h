// SPDX-License-Identifier: Apache-2.0
// The conductor's side of one run of one case: two worker processes, their messages, their ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/clock.h"
#include "harness/report/document.h"
#include "harness/run/case.h"
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
};

/// Starts both workers, sees the case through and leaves no process behind. Never fails as a call:
/// whatever goes wrong is the run's outcome, with both sides' views and the cause first.
SessionResult runSession(const SessionRequest& request);

}  // namespace gdrbench
