// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"

#include <filesystem>
#include <thread>

namespace gdrbench::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Now = std::chrono::steady_clock;

/// `count` messages of `bytes`, in slots 0, 1, ... and round again.
std::vector<Message> messages(std::uint32_t count, std::uint64_t bytes, std::uint32_t slots,
                              Ticket firstTicket = 0) {
  std::vector<Message> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back({firstTicket + i, i % slots, bytes});
  return made;
}

Message sync(Ticket ticket, const Side& side) {
  return {ticket, side.layout().syncSlot(), SlotLayout::kSyncBytes};
}

/// The same messages in both directions, with tickets that differ.
void exchange(Rig& rig, const std::vector<Message>& there, const std::vector<Message>& back) {
  rig.initiator->clearTarget();
  rig.responder->clearTarget();
  Talk initiator(*rig.initiator, there, back), responder(*rig.responder, back, there);
  run(initiator, responder);
  checkTarget(responder, *rig.initiator);
  checkTarget(initiator, *rig.responder);
}

}  // namespace

void everySizeArrives(const Subject& subject) {
  constexpr std::uint64_t kLargest = (1u << 20) + 1;
  auto rig = connectedRig(subject, {.stride = (kLargest + 63) / 64 * 64, .slots = 3, .window = 4});
  if (!rig) return;
  std::uint32_t slot = 0;
  Ticket ticket = 0;
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{64}, std::uint64_t{4095},
        std::uint64_t{4096}, std::uint64_t{65536}, kLargest}) {
    CAPTURE(bytes);
    exchange(*rig, {{ticket, slot, bytes}}, {{ticket + 1, (slot + 1) % 3, bytes}});
    ticket += 2;
    slot = (slot + 2) % 3;
  }
}

void fullWindowBothWays(const Subject& subject) {
  auto rig = connectedRig(subject, {.stride = 4096, .slots = 64, .window = 64});
  if (!rig) return;
  for (Ticket first : {0u, 1000u, 0x7fff'ff00u}) {
    exchange(*rig, messages(64, 4000, 64, first), messages(64, 512, 64, first + 64));
  }
}

void backPressureLosesNothing(const Subject& subject) {
  auto rig = connectedRig(subject, {.stride = 1024, .slots = 16, .window = 4});
  if (!rig) return;
  exchange(*rig, messages(3000, 1000, 16), messages(1000, 64, 16, 5000));
}

void largeBothWays(const Subject& subject) {
  constexpr std::uint64_t kBytes = 4u << 20;
  auto rig = connectedRig(subject, {.stride = kBytes, .slots = 2, .window = 2});
  if (!rig) return;
  exchange(*rig, messages(2, kBytes, 2), messages(2, kBytes, 2));
}

void syncBetweenData(const Subject& subject) {
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  const Side& side = *rig->initiator;
  for (Ticket round = 0; round < 3; ++round) {
    const Ticket base = 10 * round;
    const std::vector<Message> talk = {
        {base, 0, 4096}, {base + 1, 5, 1}, sync(base + 0x8000'0000u, side), {base + 2, 1, 64}};
    exchange(*rig, talk, talk);
  }
}

void emptySpans(const Subject& subject) {
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  Lane& lane = rig->initiator->lane();
  const Accepted accepted = lane.submit({}, {});
  CHECK(accepted.sends == 0);
  CHECK(accepted.expects == 0);
  Event event;
  CHECK(lane.poll({&event, 1}) == 0);
  const Message message = sync(1, *rig->initiator);
  Talk initiator(*rig->initiator, {message}, {}), responder(*rig->responder, {}, {message});
  // A poll with no room must neither write nor lose an event.
  CHECK(lane.poll({}) == 0);
  run(initiator, responder);
  CHECK(lane.poll({}) == 0);
}

void twoThreads(const Subject& subject) {
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  constexpr Ticket kRounds = 100;
  const auto deadline = Now::now() + seconds(20);
  // Each side's first is an expect at the responder and a send at the initiator.
  auto pingPong = [&](Side& side, bool first, bool& good) {
    // In a pull, "fetched" tells the peer nothing: both sides keep in step by sync messages.
    for (Ticket round = 0; round < kRounds; ++round) {
      const Message message = sync(round, side);
      Talk out(side, {message}, {}), in(side, {}, {message});
      for (Talk* talk : {first ? &out : &in, first ? &in : &out}) {
        while (!talk->over() && Now::now() < deadline) talk->step();
        if (!talk->over() || talk->failed()) return;
      }
    }
    good = true;
  };
  bool goodThere = false, goodHere = false;
  std::thread other([&] { pingPong(*rig->responder, false, goodThere); });
  pingPong(*rig->initiator, true, goodHere);
  other.join();
  CHECK(goodHere);
  CHECK(goodThere);
}

void openTwice(const Subject& subject) {
  auto one = connectedRig(subject, {});
  if (!one) return;
  auto two = connectedRig(subject, {});
  if (!two) return;
  exchange(*one, messages(4, 100, 8), messages(4, 200, 8));
  exchange(*two, messages(4, 300, 8), messages(4, 400, 8));
  one.reset();
  exchange(*two, messages(4, 500, 8, 100), messages(4, 600, 8, 100));
}

void claimsAgree(const Subject& subject) {
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  auto agreed = [](const Side& side) {
    std::map<std::string, std::string> claims;
    for (const Claim& claim : side.endpoint().claims()) {
      CHECK_FALSE(claim.key.empty());
      CHECK_MESSAGE(!claim.value.empty(), claim.key);
      if (claim.mustAgree) claims[claim.key] = claim.value;
    }
    return claims;
  };
  const auto here = agreed(*rig->initiator), there = agreed(*rig->responder);
  CHECK_FALSE(here.empty());
  CHECK(here == there);
}

void peerLeaves(const Subject& subject) {
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  exchange(*rig, messages(2, 64, 8), messages(2, 64, 8));
  rig->responder->leave();
  Talk talk(*rig->initiator, {}, {sync(7, *rig->initiator)});
  const auto deadline = Now::now() + seconds(subject.noticesPeerLoss ? 5 : 1);
  while (!talk.over() && Now::now() < deadline) talk.step();
  if (!subject.noticesPeerLoss && !talk.failed()) return;
  REQUIRE(talk.failed());
  const Error error = rig->initiator->lane().errorDetail();
  CHECK_FALSE(error.tried.empty());
  if (subject.noticesPeerLoss) CHECK(error.code == ErrorCode::kPeerLost);
}

void initiatorFindsNobody(const Subject& subject) {
  const std::string prefix = freshPrefix();
  auto responder = Side::open(subject, {}, Role::kResponder, prefix);
  auto initiator = responder ? Side::open(subject, {}, Role::kInitiator, prefix) : nullptr;
  if (!initiator) return;
  const Bytes address = responder->address();
  responder->leave();
  const auto start = Now::now();
  const Status status = initiator->connect(address, milliseconds(700));
  CHECK(Now::now() - start < seconds(5));
  REQUIRE_FALSE(status.ok());
  INFO(status.error().what());
  CHECK(status.error().tried.find("connect") + 1 + status.error().tried.find("open") + 1 > 0);
  CHECK_FALSE(status.error().next.empty());
}

void responderFindsNobody(const Subject& subject) {
  const std::string prefix = freshPrefix();
  auto responder = Side::open(subject, {}, Role::kResponder, prefix);
  auto initiator = responder ? Side::open(subject, {}, Role::kInitiator, prefix) : nullptr;
  if (!initiator) return;
  const Bytes address = initiator->address();
  initiator->leave();
  const auto start = Now::now();
  const Status status = responder->connect(address, milliseconds(300));
  CHECK(Now::now() - start < seconds(5));
  REQUIRE_FALSE(status.ok());
  INFO(status.error().what());
  CHECK_FALSE(status.error().tried.empty());
}

void nothingIsLeft(const Subject& subject) {
  auto named = [](const std::string& prefix) {
    std::vector<std::string> names;
    std::error_code error;
    for (const char* folder : {"/dev/shm", "/tmp"}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.find(prefix) != std::string::npos) names.push_back(name);
      }
    }
    return names;
  };
  // Of this process: all prefixes of freshPrefix() begin so.
  std::string prefix = freshPrefix();
  prefix.resize(prefix.find_last_of('-', prefix.size() - 2));
  auto rig = connectedRig(subject, {});
  if (!rig) return;
  exchange(*rig, messages(1, 64, 8), messages(1, 64, 8));
  rig.reset();
  const std::vector<std::string> left = named(prefix);
  CHECK_MESSAGE(left.empty(), "left behind: " << (left.empty() ? "" : left.front()));
}

}  // namespace gdrbench::conformance
