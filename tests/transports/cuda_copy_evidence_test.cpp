// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "transports/cuda_copy/path_evidence.h"

namespace gdrbench::cuda_copy {

using namespace evidence;

TEST_CASE("cuda_copy evidence: a route is what it was made to be") {
  struct Case {
    const char* name;
    RouteFacts facts;
    Outcome outcome;
    Strength strength;
    Side side;
    PathKind path;
    const char* says;
  };
  const Case kCases[] = {
      {"peer access",
       {.ends = Ends::kTwoGpus, .peerAccess = true},
       Outcome::kDirect,
       Strength::kDecisive,
       Side::kBoth,
       PathKind::kNone,
       "over peer access"},
      {"no peer access",
       {.ends = Ends::kTwoGpus, .peerAccess = false},
       Outcome::kStaged,
       Strength::kDecisive,
       Side::kBoth,
       PathKind::kNone,
       "peer access is off"},
      {"one GPU",
       {.ends = Ends::kOneGpu},
       Outcome::kDirect,
       Strength::kDecisive,
       Side::kBoth,
       PathKind::kSameGpu,
       "on one GPU"},
      {"GPU to pinned memory",
       {.ends = Ends::kGpuAndHost, .targetOnGpu = false, .pinned = true},
       Outcome::kDirect,
       Strength::kDecisive,
       Side::kSource,
       PathKind::kNone,
       "pinned host memory"},
      {"pinned memory to GPU",
       {.ends = Ends::kGpuAndHost, .sourceOnGpu = false, .pinned = true},
       Outcome::kDirect,
       Strength::kDecisive,
       Side::kSink,
       PathKind::kNone,
       "pinned host memory"},
      {"GPU to pageable memory",
       {.ends = Ends::kGpuAndHost, .targetOnGpu = false},
       Outcome::kStaged,
       Strength::kStrong,
       Side::kSource,
       PathKind::kNone,
       "pageable"},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    const auto all = pathObservations(each.facts);
    REQUIRE(all.size() == 1);
    CHECK(all[0].outcome == each.outcome);
    CHECK(all[0].strength == each.strength);
    CHECK(all[0].kind == WitnessClass::kConstruction);
    CHECK(all[0].way == Way::kOut);
    CHECK(all[0].side == each.side);
    CHECK(all[0].path == each.path);
    CHECK(all[0].observed.find(each.says) != std::string::npos);
    CHECK(all[0].reason.empty() == (each.outcome == Outcome::kDirect));
  }
}

TEST_CASE("cuda_copy evidence: between host memories there is nothing to prove") {
  CHECK(pathObservations({.sourceOnGpu = false, .targetOnGpu = false}).empty());
}

}  // namespace gdrbench::cuda_copy
