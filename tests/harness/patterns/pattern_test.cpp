// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "pair_lane.h"

using namespace gdrbench;
using test::PairLane;

namespace {

struct Pair {
  explicit Pair(const Block& b)
      : block(b),
        initiator(b.layout.syncSlot(), b.flow == DataFlow::kPull),
        responder(b.layout.syncSlot(), b.flow == DataFlow::kPull) {
    initiator.joinTo(responder);
    responder.joinTo(initiator);
  }

  /// Runs one block; `seconds` is the deadline of both sides.
  void run(std::string_view name, double seconds = 20) {
    const auto pattern = findPattern(name)->make();
    const Clock clock = Clock::monotonic();
    const Ticks deadline = clock.now() + static_cast<Ticks>(seconds * 1e9);
    std::thread other([&] {
      Guard guard(clock, deadline, true);
      served = pattern->respond({responder, clock, guard}, block);
    });
    Guard guard(clock, deadline, true);
    samples.assign(block.messages, 0);
    elapsed = pattern->initiate({initiator, clock, guard}, block, samples);
    other.join();
  }

  Block block;
  PairLane initiator, responder;
  std::vector<Ticks> samples;
  Result<Ticks> elapsed = Ticks{0};
  Status served = Done{};
};

Block blockOf(std::uint32_t messages, std::uint32_t leadIn = 0) {
  return {.layout = {64, 8}, .bytes = 64, .messages = messages, .leadIn = leadIn};
}

std::size_t dataMessages(const PairLane& lane) {
  return static_cast<std::size_t>(std::count_if(lane.log.begin(), lane.log.end(),
                                                [](const Send& send) { return send.slot < 8; }));
}

}  // namespace

TEST_CASE("ping-pong sends one message each way and stamps those after the lead-in") {
  Pair pair(blockOf(20, 3));
  pair.run("ping-pong");
  REQUIRE(pair.elapsed.ok());
  REQUIRE(pair.served.ok());
  CHECK(dataMessages(pair.initiator) == 23);
  CHECK(dataMessages(pair.responder) == 23);
  CHECK(pair.samples.size() == 20);
  CHECK(std::none_of(pair.samples.begin(), pair.samples.end(), [](Ticks t) { return t == 0; }));
  Ticks sum = 0;
  for (const Ticks sample : pair.samples) sum += sample;
  CHECK(sum <= *pair.elapsed);
  CHECK(pair.initiator.good);
  CHECK(pair.responder.good);
}

TEST_CASE("slots go round robin and tickets are the index in the block") {
  Pair pair(blockOf(20));
  pair.run("ping-pong");
  REQUIRE(pair.elapsed.ok());
  std::uint32_t index = 0;
  for (const Send& send : pair.initiator.log) {
    if (send.slot == pair.block.layout.syncSlot()) continue;
    CHECK(send.ticket == index);
    CHECK(send.slot == index % 8);
    ++index;
  }
}

TEST_CASE("a pulled ping-pong sends no data and ends with a word to the responder") {
  Block block = blockOf(5);
  block.flow = DataFlow::kPull;
  Pair pair(block);
  pair.run("ping-pong");
  REQUIRE(pair.elapsed.ok());
  REQUIRE(pair.served.ok());
  CHECK(dataMessages(pair.initiator) == 0);
  CHECK(dataMessages(pair.responder) == 0);
  CHECK(pair.initiator.log.size() == 1);
  CHECK(pair.responder.log.size() == 1);
}

TEST_CASE("a stream finishes for every combination of messages, window and batch") {
  for (const std::uint32_t messages : {1u, 2u, 5u, 99u, 100u, 101u, 1000u}) {
    for (const std::uint32_t window : {1u, 2u, 16u, 64u, 100u, 1000u}) {
      for (const std::uint32_t batch : {1u, 3u, 16u}) {
        for (const Direction direction : {Direction::kUni, Direction::kBi}) {
          CAPTURE(messages);
          CAPTURE(window);
          CAPTURE(batch);
          Block block = blockOf(messages);
          block.window = window;
          block.batch = std::min(batch, window);
          block.direction = direction;
          Pair pair(block);
          pair.run("stream");
          REQUIRE(pair.elapsed.ok());
          REQUIRE(pair.served.ok());
          CHECK(dataMessages(pair.initiator) == messages);
          CHECK(dataMessages(pair.responder) == (direction == Direction::kBi ? messages : 0));
          // One more: the sync message that ends a block is not part of the window.
          CHECK(pair.initiator.outstanding <= window + 1);
          CHECK(pair.initiator.good);
          CHECK(pair.responder.good);
        }
      }
    }
  }
}

TEST_CASE("a pulled stream fetches on the initiator, or on both sides") {
  for (const Direction direction : {Direction::kUni, Direction::kBi}) {
    Block block = blockOf(100);
    block.flow = DataFlow::kPull;
    block.direction = direction;
    block.window = 16;
    block.batch = 4;
    Pair pair(block);
    pair.run("stream");
    REQUIRE(pair.elapsed.ok());
    REQUIRE(pair.served.ok());
    CHECK(dataMessages(pair.initiator) + dataMessages(pair.responder) == 0);
  }
}

TEST_CASE("back-pressure of one message at a time loses nothing") {
  for (const char* name : {"ping-pong", "stream"}) {
    Block block = blockOf(200);
    block.window = 32;
    block.batch = 8;
    block.direction = Direction::kBi;
    Pair pair(block);
    pair.initiator.acceptAtOnce = pair.responder.acceptAtOnce = 1;
    pair.run(name);
    REQUIRE(pair.elapsed.ok());
    REQUIRE(pair.served.ok());
    CHECK(dataMessages(pair.initiator) == 200);
    CHECK(dataMessages(pair.responder) == 200);
  }
}

TEST_CASE("a failed lane ends the block with the lane's own words") {
  Pair pair(blockOf(5));
  pair.initiator.failNext = pair.responder.failNext = true;
  pair.run("ping-pong");
  REQUIRE_FALSE(pair.elapsed.ok());
  CHECK(pair.elapsed.error().code == ErrorCode::kTransport);
  CHECK(pair.elapsed.error().nativeText == "the cable is cut");
  CHECK(pair.elapsed.error().tried.find("0 of 5 messages") != std::string::npos);
  CHECK_FALSE(pair.served.ok());
}

TEST_CASE("a message that arrives twice is named") {
  for (const char* name : {"ping-pong", "stream"}) {
    CAPTURE(name);
    Pair pair(blockOf(5));
    pair.responder.duplicateArrivals = true;
    pair.run(name, 0.5);
    REQUIRE_FALSE(pair.served.ok());
    CHECK(pair.served.error().code == ErrorCode::kData);
    CHECK(pair.served.error().nativeText.find("message 0 arrived twice") != std::string::npos);
  }
}

TEST_CASE("a peer that never answers ends the wait at its deadline") {
  const Block block = blockOf(5);
  PairLane alone(block.layout.syncSlot(), false), nobody(block.layout.syncSlot(), false);
  alone.joinTo(nobody);
  const Clock clock = Clock::monotonic();
  for (const char* name : {"ping-pong", "stream"}) {
    Guard guard(clock, clock.now() + 50'000'000, false);
    std::vector<Ticks> samples(5);
    const auto ended = findPattern(name)->make()->initiate({alone, clock, guard}, block, samples);
    REQUIRE_FALSE(ended.ok());
    CHECK(ended.error().code == ErrorCode::kTimeout);
  }
}

TEST_CASE("a stop signal ends the wait and says which it was") {
  const Block block = blockOf(5);
  PairLane alone(block.layout.syncSlot(), false), nobody(block.layout.syncSlot(), false);
  alone.joinTo(nobody);
  const Clock clock = Clock::monotonic();
  Guard guard(clock, clock.now() + 60'000'000'000, false);
  gStop = 15;
  const auto ended = findPattern("stream")->make()->respond({alone, clock, guard}, block);
  gStop = 0;
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().code == ErrorCode::kCancelled);
  CHECK(ended.error().nativeCode == 15);
}

TEST_CASE("a side whose other side failed in the same process has lost its peer") {
  const Block block = blockOf(5);
  PairLane alone(block.layout.syncSlot(), false), nobody(block.layout.syncSlot(), false);
  alone.joinTo(nobody);
  const Clock clock = Clock::monotonic();
  Guard guard(clock, clock.now() + 60'000'000'000, false);
  gStop = kStopOtherSide;
  const auto ended = findPattern("stream")->make()->respond({alone, clock, guard}, block);
  gStop = 0;
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().code == ErrorCode::kPeerLost);
  CHECK(ended.error().nativeCode == 0);
}

TEST_CASE("which side receives data depends on direction and flow") {
  const auto stream = findPattern("stream")->make();
  const auto pingPong = findPattern("ping-pong")->make();
  Block block = blockOf(1);
  CHECK(pingPong->initiatorReceives(block));
  CHECK(pingPong->responderReceives(block));
  CHECK_FALSE(stream->initiatorReceives(block));
  CHECK(stream->responderReceives(block));
  block.direction = Direction::kBi;
  CHECK(stream->initiatorReceives(block));
  block.direction = Direction::kUni;
  block.flow = DataFlow::kPull;
  CHECK(stream->initiatorReceives(block));
  CHECK_FALSE(stream->responderReceives(block));
  CHECK_FALSE(pingPong->responderReceives(block));
  block.flow = DataFlow::kNone;
  CHECK_FALSE(stream->responderReceives(block));
  CHECK_FALSE(pingPong->initiatorReceives(block));
}

TEST_CASE("patterns are found by name") {
  CHECK(findPattern("ping-pong") != nullptr);
  CHECK(findPattern("stream") != nullptr);
  CHECK(findPattern("ping_pong") == nullptr);
}
