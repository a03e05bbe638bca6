// SPDX-License-Identifier: Apache-2.0
// What the frozen-peer test concludes of lanes whose truth is known. The peer stands still here by
// not being polled.
#include "harness/run/frozen_peer.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

using namespace gdrbench;
using evidence::Outcome;
using evidence::Strength;
using std::chrono::steady_clock;

namespace {

constexpr std::uint64_t kBytes = 4096;

/// Copies between two buffers of this process, `delay` after the submit.
class DelayedLane final : public Lane {
 public:
  /// `early`: calls a message sent before it is there. `peerMoves`: it is there when the peer
  /// polls.
  struct Ways {
    std::chrono::milliseconds delay{0};
    bool early = false, peerMoves = false;
  };

  DelayedLane(Buffer& from, Buffer& to, Ways ways) : from_(from), to_(to), ways_(ways) {}

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override {
    sends_ += sends.size();
    fetches_ += expects.size();
    due_ = steady_clock::now() + ways_.delay;
    return {sends.size(), expects.size()};
  }

  std::size_t poll(std::span<Event> events) noexcept override {
    const bool due = steady_clock::now() >= due_;
    const bool started = sends_ + fetches_ > 0;
    const bool moves = started && !moved_ && due && !ways_.peerMoves;
    if (moves) {
      std::memcpy(to_.data(), from_.data(), kBytes);
      moved_ = true;
    }
    if (told_ || !started || !(moved_ || ways_.early)) return 0;
    told_ = true;
    events[0] = {sends_ > 0 ? Event::Kind::kSent : Event::Kind::kArrived, 1};
    return 1;
  }

  [[nodiscard]] Error errorDetail() const override { return {}; }

 private:
  Buffer& from_;
  Buffer& to_;
  Ways ways_;
  std::size_t sends_ = 0, fetches_ = 0;
  steady_clock::time_point due_;
  bool moved_ = false, told_ = false;
};

/// Takes expects and advertisements, and does nothing: the responder's.
class StillLane final : public Lane {
 public:
  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override {
    return {sends.size(), expects.size()};
  }
  std::size_t poll(std::span<Event> /*events*/) noexcept override { return 0; }
  [[nodiscard]] Error errorDetail() const override { return {}; }
};

evidence::Observation tested(DataFlow flow, DelayedLane::Ways ways) {
  Case c;
  c.bytes = kBytes;
  c.pattern = "ping-pong";
  const BlockPlan plan{.layout = {.stride = kBytes, .count = 2}, .messages = 1};
  const auto pattern = findPattern(c.pattern)->make();
  auto space = *openMemorySpace({}, {.ownBytes = 4 * plan.layout.totalBytes()});
  const auto allocate = [&] { return *space->allocate(plan.layout.totalBytes()); };
  Buffer mine = allocate(), myTarget = allocate(), theirs = allocate(), theirTarget = allocate();
  const bool pulls = flow == DataFlow::kPull;
  DelayedLane lane(pulls ? theirs : mine, pulls ? myTarget : theirTarget, ways);
  StillLane still;
  FrozenPeer initiator({c, plan, *pattern, flow, Role::kInitiator, 7, *space, mine, myTarget},
                       lane);
  FrozenPeer responder({c, plan, *pattern, flow, Role::kResponder, 7, *space, theirs, theirTarget},
                       still);
  REQUIRE(responder.prepare());
  const FrozenStep probed = initiator.probe();
  const FrozenStep looked = responder.look();
  return frozenPeerSeen(c, {.flow = flow}, probed, looked);
}

evidence::Observation seenWith(const Capabilities& can, bool arrived) {
  Case testCase;
  testCase.bytes = 64;
  return frozenPeerSeen(testCase, can, {FrozenStep::Kind::kProbed, true, "it completed"},
                        {FrozenStep::Kind::kLooked, arrived, "looked"});
}

}  // namespace

TEST_CASE("frozen peer: who writes into it is direct") {
  const auto seen = tested(DataFlow::kPush, {});
  CHECK(seen.outcome == evidence::Outcome::kDirect);
  CHECK(seen.way == evidence::Way::kOut);
  CHECK(seen.side == evidence::Side::kSink);
}

TEST_CASE("frozen peer: who reads from it is direct, the other way") {
  const auto seen = tested(DataFlow::kPull, {});
  CHECK(seen.outcome == evidence::Outcome::kDirect);
  CHECK(seen.way == evidence::Way::kBack);
  CHECK(seen.side == evidence::Side::kSource);
}

TEST_CASE("frozen peer: what is called sent too early is waited for") {
  using std::chrono::milliseconds;
  const auto seen = tested(DataFlow::kPush, {.delay = milliseconds(30), .early = true});
  CHECK(seen.outcome == evidence::Outcome::kDirect);
}

TEST_CASE("frozen peer: who needs the peer is staged, sent or not") {
  for (const bool early : {false, true}) {
    const auto seen = tested(DataFlow::kPush, {.early = early, .peerMoves = true});
    CHECK(seen.outcome == evidence::Outcome::kStaged);
    CHECK(seen.observed.find("its bytes were not there") != seen.observed.npos);
  }
  CHECK(tested(DataFlow::kPull, {.peerMoves = true}).outcome == evidence::Outcome::kStaged);
}

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
