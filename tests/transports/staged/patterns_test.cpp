// SPDX-License-Identifier: Apache-2.0
// The patterns of the harness over the staged path, a thread for each side: what a worker does.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "harness/patterns/pattern.h"
#include "tests/transports/staged/staged_subject.h"

namespace gdrbench::staged {
namespace {

/// Every slot that messages came to holds what its sender had there.
bool intact(const conformance::Side& from, const conformance::Side& to, const Block& block) {
  const std::uint32_t used = std::min(block.total(), block.layout.count);
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    const auto there = to.target().subspan(block.layout.offsetOf(slot), block.bytes);
    if (std::memcmp(there.data(), from.source(slot), block.bytes) != 0) return false;
  }
  return true;
}

/// A few of them on one lane, as in a run.
template <class RunOne>
Status blocks(Block block, RunOne&& runOne) {
  Status status = Done{};
  for (; status && block.sequence < 3; ++block.sequence) status = runOne(block);
  return status;
}

void converse(const Options& options, const Pattern& pattern, const Block& block) {
  auto rig = conformance::connectedRig(subject(options),
                                       {block.layout.stride, block.layout.count, block.window});
  REQUIRE(rig);
  const Clock clock = Clock::monotonic();
  const Ticks deadline = clock.now() + clock.ticks(std::chrono::seconds(60));
  Status served = Done{}, done = Done{};
  std::thread other([&] {
    served = blocks(block, [&](const Block& one) {
      Guard guard(clock, deadline, true);
      return pattern.respond({rig->responder->lane(), clock, guard}, one);
    });
  });
  std::vector<Ticks> samples(block.messages);
  done = blocks(block, [&](const Block& one) -> Status {
    Guard guard(clock, deadline, true);
    const auto took = pattern.initiate({rig->initiator->lane(), clock, guard}, one, samples);
    return took ? Status(Done{}) : took.error();
  });
  other.join();
  REQUIRE_MESSAGE(done.ok(), done.error().what());
  REQUIRE_MESSAGE(served.ok(), served.error().what());
  CHECK(intact(*rig->initiator, *rig->responder, block));
  if (pattern.initiatorReceives(block)) CHECK(intact(*rig->responder, *rig->initiator, block));
}

}  // namespace

TEST_CASE("ping-pong and streams, small and in many chunks") {
  for (const std::string over : {"loopback", "tcp"}) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{100'000}}) {
      CAPTURE(over);
      CAPTURE(bytes);
      const Options options = {{"over", over}, {"chunk", "8KiB"}, {"depth", "3"}};
      const Block block{.layout = {.stride = (bytes + 63) / 64 * 64, .count = 16},
                        .bytes = bytes,
                        .messages = 40};
      converse(options, *findPattern("ping-pong")->make(), block);
      Block stream = block;
      stream.window = 8;
      stream.batch = 2;
      for (const Direction direction : {Direction::kUni, Direction::kBi}) {
        stream.direction = direction;
        converse(options, *findPattern("stream")->make(), stream);
      }
    }
  }
}

}  // namespace gdrbench::staged
