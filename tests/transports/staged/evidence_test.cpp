// SPDX-License-Identifier: Apache-2.0
// The staged path is staged by construction, whatever is underneath, and says so of its own memory.
#include <doctest/doctest.h>

#include "tests/transports/staged/staged_subject.h"
#include "transports/loopback/loopback_transport.h"
#include "transports/staged/staged_transport.h"

namespace gdrbench::staged {

using namespace evidence;

TEST_CASE("both ways are staged, each by the copies of the side that says so") {
  for (const Role role : {Role::kInitiator, Role::kResponder}) {
    const MemoryName gpu{MemoryKind::kCuda, "0"};
    const auto transport = makeStaged(loopback::make(), OptionSet::defaults(options()));
    const auto endpoint =
        transport->open({.role = role,
                         .options = OptionSet::defaults(loopback::options()),
                         .lane = {.layout = {.stride = 4096, .count = 2}, .messageBytes = 4096},
                         .memory = gpu,
                         .peerMemory = gpu,
                         .namePrefix = conformance::freshPrefix()});
    REQUIRE(endpoint.ok());
    const auto all = (*endpoint)->observations();
    REQUIRE(all.size() == 2);
    for (const Observation& seen : all) {
      CHECK(seen.kind == WitnessClass::kConstruction);
      CHECK(seen.outcome == Outcome::kStaged);
      CHECK(seen.strength == Strength::kDecisive);
      CHECK(seen.bytes == 0);
      CHECK(seen.observed.find("pinned host memory") != std::string::npos);
    }
    CHECK(all[0].way == Way::kOut);
    CHECK(all[0].side == evidence::Side::kSource);
    CHECK(all[1].way == Way::kBack);
    CHECK(all[1].side == evidence::Side::kSink);
  }
}

}  // namespace gdrbench::staged
