// SPDX-License-Identifier: Apache-2.0
#include "harness/run/side_cpus.h"

#include <fmt/format.h>

#include <cstddef>
#include <tuple>

#include "harness/environment/affinity.h"
#include "harness/environment/environment.h"
#include "harness/run/placement.h"

namespace gdrbench {

Status SideCpus::pin(const Case& testCase, Role role) {
  const std::size_t pairs = std::size_t{testCase.beside} + 1;
  const std::size_t allowed = allowedCpus().size();
  std::optional<int> initiator = testCase.initiatorCpu;
  std::optional<int> responder = testCase.responderCpu;
  if (const auto near =
          cpusNear(testCase.source, testCase.destination, {testCase.pairNumber, pairs});
      near && !testCase.cpusGiven) {
    std::tie(initiator, responder) = *near;
  }
  ofPair_ = cpusOfPair({testCase.pairNumber, pairs});
  const bool pairsShare = pairs > 1 && 2 * pairs > allowed;
  shared_ = pairsShare || (initiator && initiator == responder);
  own_ = role == Role::kInitiator ? initiator : responder;
  if (!own_) return Done{};
  polling_ = {initiator.value_or(*own_), responder.value_or(*own_)};
  if (pairsShare) {
    sharedWhy_ =
        fmt::format("{} pairs at once share {} CPUs and yield to each other", pairs, allowed);
  } else if (shared_) {
    sharedWhy_ = "both sides share one CPU and yield to each other";
  }
  return pinToCpu(*own_);
}

Status SideCpus::leave() const {
  return own_ ? runOnCpus(cpusBeside(ofPair_, polling_)) : Status(Done{});
}

Status SideCpus::comeBack() const {
  return own_ ? runOnCpus({*own_}) : Status(Done{});
}

}  // namespace gdrbench
