// SPDX-License-Identifier: Apache-2.0
// What the frozen peer may conclude. The steps themselves run in the end-to-end tests.
#include "harness/run/frozen_peer.h"

#include <doctest/doctest.h>

using namespace gdrbench;
using evidence::Outcome;
using evidence::Strength;

namespace {

evidence::Observation seenWith(const Capabilities& can, bool arrived) {
  Case testCase;
  testCase.bytes = 64;
  return frozenPeerSeen(testCase, can, {FrozenStep::Kind::kProbed, true, "it completed"},
                        {FrozenStep::Kind::kLooked, arrived, "looked"});
}

}  // namespace

TEST_CASE("what arrives at a frozen peer decides only where its sender cannot have staged it") {
  const auto adapter = seenWith({}, true);
  CHECK(adapter.outcome == Outcome::kDirect);
  CHECK(adapter.strength == Strength::kDecisive);
  // A copy without peer access is the sender's driver's own, both legs of it.
  const auto copier = seenWith({.mapsPeer = true}, true);
  CHECK(copier.outcome == Outcome::kDirect);
  CHECK(copier.strength == Strength::kStrong);
  CHECK_FALSE(copier.reason.empty());
}

TEST_CASE("a peer whose software takes part need not have staged") {
  for (const bool maps : {false, true}) {
    const auto seen = seenWith({.mapsPeer = maps}, false);
    CHECK(seen.outcome == Outcome::kStaged);
    CHECK(seen.strength == Strength::kWeak);
    CHECK_FALSE(seen.reason.empty());
  }
}
