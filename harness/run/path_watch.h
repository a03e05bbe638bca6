// SPDX-License-Identifier: Apache-2.0
// One side's witnesses of the path: the harness's own and what the transport shows.
#pragma once

#include <span>
#include <vector>

#include "harness/evidence/observation.h"
#include "harness/run/block_runner.h"
#include "harness/run/case.h"
#include "harness/witness/witness.h"
#include "transports/transport.h"

namespace gdrbench {

class PathWatch {
 public:
  /// Before memory is registered: `claims` of the endpoint as it was opened name the device that it
  /// uses.
  PathWatch(const Case& testCase, Role role, std::span<const Claim> claims, bool peerOnThisHost);

  /// Before the first timed message, and once.
  void begin(const CheckCount& soFar);

  /// After the last one: everything that was seen, in the initiator's terms.
  std::vector<evidence::Observation> end(const CheckCount& soFar, const Endpoint& endpoint);

 private:
  Role role_;
  std::uint64_t messageBytes_;
  bool watches_, begun_ = false;
  witness::Witnesses witnesses_;
  CheckCount before_;
};

}  // namespace gdrbench
