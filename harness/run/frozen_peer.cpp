// SPDX-License-Identifier: Apache-2.0
#include "harness/run/frozen_peer.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "harness/core/units.h"

namespace gdrbench {
namespace {

using std::chrono::steady_clock;

/// Many times what a message takes, and short beside the retries of a reliable connection, which
/// would give up on a peer that stands still for long.
constexpr auto kPatience = std::chrono::milliseconds(500);

/// Some lanes call a message sent once they have copied it, as when injecting: it is on its way
/// for a while yet, and the sender may have to help it along.
constexpr auto kOnItsWay = std::chrono::milliseconds(100);

/// Not that of any block: old bytes cannot pass for these.
constexpr std::uint64_t kSeedShift = 0x66726f7a656e;

evidence::Observation about(const Case& testCase) {
  return {.id = "frozen-peer",
          .kind = evidence::WitnessClass::kBehaviour,
          .way = evidence::Way::kOut,
          .side = evidence::Side::kSink,
          .bytes = testCase.bytes,
          .outcome = evidence::Outcome::kUnavailable,
          .strength = evidence::Strength::kDecisive,
          .ifDirect = "the message is in the memory of a process that stands still",
          .ifStaged = "it does not get there before the process goes on",
          .privilege = "none"};
}

}  // namespace

std::optional<std::string> notFreezable(const Case& testCase, const Capabilities& can) {
  if (can.flow == DataFlow::kNone) return "no bytes are moved";
  if (can.oneProcess) return "both sides are threads of one process";
  if (testCase.drive != Drive::kHost) return "the device drives the messages, in its own order";
  if (can.peerMustRun) return "the library's own threads on both sides have to run";
  return {};
}

std::string_view name(FrozenStep::Kind kind) {
  switch (kind) {
    case FrozenStep::Kind::kReady:
      return "ready";
    case FrozenStep::Kind::kProbe:
      return "probe";
    case FrozenStep::Kind::kProbed:
      return "probed";
    case FrozenStep::Kind::kLook:
      return "look";
    case FrozenStep::Kind::kLooked:
      return "looked";
  }
  return "";
}

FrozenPeer::FrozenPeer(const BlockRunner::Parts& parts, Lane& lane)
    : parts_(parts), lane_(lane), pattern_(parts.seed ^ kSeedShift) {}

SlotRun FrozenPeer::message() const {
  return {parts_.plan.layout, 0, 1, parts_.testCase.bytes, 0};
}

Status FrozenPeer::prepare() {
  const Message one{.ticket = 1, .slot = 0, .bytes = parts_.testCase.bytes};
  if (pulls()) {
    if (Status filled = parts_.space.fill(parts_.source, message(), pattern_); !filled) {
      return filled;
    }
    lane_.submit(std::span(&one, 1), {});
    return Done{};
  }
  if (Status poisoned = parts_.space.poison(parts_.target, message(), pattern_); !poisoned) {
    return poisoned;
  }
  pending_ = lane_.submit({}, std::span(&one, 1)).expects == 1;
  return Done{};
}

FrozenStep FrozenPeer::probe() {
  const Message one{.ticket = 1, .slot = 0, .bytes = parts_.testCase.bytes};
  const Status ready = pulls() ? parts_.space.poison(parts_.target, message(), pattern_)
                               : parts_.space.fill(parts_.source, message(), pattern_);
  if (!ready) return {FrozenStep::Kind::kProbed, false, ready.error().what()};
  const auto start = steady_clock::now();
  const Accepted taken =
      pulls() ? lane_.submit({}, std::span(&one, 1)) : lane_.submit(std::span(&one, 1), {});
  pending_ = taken.sends + taken.expects == 1;
  if (!pending_) return {FrozenStep::Kind::kProbed, false, "the lane did not take the message"};
  if (!await(pulls() ? Event::Kind::kArrived : Event::Kind::kSent)) {
    return {FrozenStep::Kind::kProbed, false,
            pending_ ? fmt::format("it did not complete within {} ms", kPatience.count())
                     : lane_.errorDetail().what()};
  }
  const double took = std::chrono::duration<double, std::nano>(steady_clock::now() - start).count();
  std::string found = fmt::format("it completed after {}", formatDuration(took));
  if (pulls()) return compare(FrozenStep::Kind::kProbed, std::move(found));
  if (!settle()) return {FrozenStep::Kind::kProbed, false, lane_.errorDetail().what()};
  return {FrozenStep::Kind::kProbed, true, std::move(found)};
}

FrozenStep FrozenPeer::look() {
  if (pulls()) return {FrozenStep::Kind::kLooked, true, ""};
  return compare(FrozenStep::Kind::kLooked, "");
}

FrozenStep FrozenPeer::compare(FrozenStep::Kind kind, std::string found) {
  const auto fault = parts_.space.verify(parts_.target, message(), pattern_);
  const std::string_view before = found.empty() ? "" : ", ";
  if (!fault) return {kind, false, fmt::format("{}{}{}", found, before, fault.error().what())};
  if (*fault) return {kind, false, fmt::format("{}{}its bytes were not there", found, before)};
  return {kind, true, fmt::format("{}{}all its bytes were there", found, before)};
}

/// False past the deadline or when the lane failed; then nothing is pending any more.
bool FrozenPeer::await(Event::Kind kind) {
  std::array<Event, 8> events;
  const auto deadline = steady_clock::now() + kPatience;
  while (steady_clock::now() < deadline) {
    const std::size_t count = lane_.poll(events);
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].kind != kind && events[i].kind != Event::Kind::kFailed) continue;
      pending_ = false;
      return events[i].kind == kind;
    }
  }
  return false;
}

/// False when the lane failed.
bool FrozenPeer::settle() {
  std::array<Event, 8> events;
  const auto deadline = steady_clock::now() + kOnItsWay;
  while (steady_clock::now() < deadline) {
    const std::size_t count = lane_.poll(events);
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].kind == Event::Kind::kFailed) return false;
    }
  }
  return true;
}

void FrozenPeer::drain() {
  if (!pending_) return;
  const bool initiator = parts_.role == Role::kInitiator;
  (void)await(initiator && !pulls() ? Event::Kind::kSent : Event::Kind::kArrived);
}

evidence::Observation frozenPeerSeen(const Case& testCase, const Capabilities& can,
                                     const FrozenStep& probed, const FrozenStep& looked) {
  evidence::Observation seen = about(testCase);
  const bool pulls = can.flow == DataFlow::kPull;
  if (pulls) {
    seen.way = evidence::Way::kBack;
    seen.side = evidence::Side::kSource;
  }
  const bool good = probed.good && looked.good;
  seen.outcome = good ? evidence::Outcome::kDirect : evidence::Outcome::kStaged;
  if (!good) {
    seen.strength = evidence::Strength::kWeak;
    seen.reason = "software of the peer takes part: it copies, or starts a device that does";
  } else if (can.mapsPeer) {
    seen.strength = evidence::Strength::kStrong;
    seen.reason = "the other process reaches this memory too, and may have gone through the host";
  }
  seen.observed =
      fmt::format("a message of {} {} a process that stood still: {}{}{}",
                  formatSize(testCase.bytes), pulls ? "fetched from" : "sent to", probed.detail,
                  looked.detail.empty() ? "" : "; before it made any progress, ", looked.detail);
  return seen;
}

evidence::Observation frozenPeerMissing(const Case& testCase, std::string reason) {
  evidence::Observation seen = about(testCase);
  seen.reason = std::move(reason);
  return seen;
}

}  // namespace gdrbench
