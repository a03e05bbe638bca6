// SPDX-License-Identifier: Apache-2.0
// What every pattern does with a lane: post with back-pressure, pump events, keep in step with
// sync messages, and turn a failure into an Error. Hot: everything is inline and nothing allocates.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "harness/patterns/pattern.h"

namespace gdrbench {

/// Tickets of sync messages: the top bit, the block's number, and what it says. Data messages of a
/// block carry their index in the block.
enum class Sync : std::uint32_t {
  kReady = 0,    ///< responder: my slots are prepared, my receives are posted
  kClosing = 1,  ///< responder: everything has arrived
  kDone = 2,     ///< initiator: I have fetched everything (pull only)
  kGo = 3,       ///< initiator: the clock runs, send (both ways at once only)
};
inline constexpr Ticket kSyncBit = 0x8000'0000u;
constexpr Ticket syncTicket(Sync what, std::uint32_t sequence) noexcept {
  return kSyncBit | ((sequence & 0x1fff'ffffu) << 2) | static_cast<std::uint32_t>(what);
}
/// Data tickets stay below this, so a block has fewer messages.
inline constexpr std::uint32_t kMaxBlockMessages = 0x4000'0000u;

class LaneDriver {
 public:
  LaneDriver(const Stage& stage, const Block& block) : stage_(stage), block_(block) {}

  /// Polls once. `arrived(ticket)` is called for each arrival and answers false for one that must
  /// not come now. False when the conversation is over for a failure: see error().
  template <class OnArrived>
  [[nodiscard]] bool pump(OnArrived&& arrived) noexcept {
    const std::size_t n = stage_.lane.poll(events_);
    if (n == 0) return stage_.guard.expired() ? stop(Stop::kExpired) : true;
    for (std::size_t i = 0; i < n; ++i) {
      const Event event = events_[i];
      if (event.kind == Event::Kind::kSent) {
        ++sent_;
      } else if (event.kind == Event::Kind::kFailed) {
        return stop(Stop::kLaneFailed);
      } else if (!arrived(event.ticket)) {
        unexpected_ = event.ticket;
        return stop(Stop::kUnexpected);
      }
    }
    return true;
  }

  /// Submits both, polling while the lane pushes back.
  template <class OnArrived>
  [[nodiscard]] bool post(std::span<const Send> sends, std::span<const Expect> expects,
                          OnArrived&& arrived) noexcept {
    submitted_ += sends.size();
    Accepted taken = stage_.lane.submit(sends, expects);
    while (taken.sends < sends.size() || taken.expects < expects.size()) {
      if (!pump(arrived)) return false;
      sends = sends.subspan(taken.sends);
      expects = expects.subspan(taken.expects);
      taken = stage_.lane.submit(sends, expects);
    }
    return true;
  }

  /// Counts sends that are submitted by other means than post().
  void countSubmitted(std::size_t sends) noexcept { submitted_ += sends; }
  [[nodiscard]] std::uint64_t outstanding() const noexcept { return submitted_ - sent_; }

  /// No arrival can be due while a sync message is submitted, unless `arrived` says so.
  [[nodiscard]] bool sendSync(Sync what) noexcept { return sendSync(what, kNothingDue); }
  template <class OnArrived>
  [[nodiscard]] bool sendSync(Sync what, OnArrived&& arrived) noexcept {
    const Send message{syncTicket(what, block_.sequence), block_.layout.syncSlot(), kSyncBytes};
    return post({&message, 1}, {}, arrived);
  }
  [[nodiscard]] bool expectSync(Sync what) noexcept { return expectSync(what, kNothingDue); }
  template <class OnArrived>
  [[nodiscard]] bool expectSync(Sync what, OnArrived&& arrived) noexcept {
    const Expect message{syncTicket(what, block_.sequence), block_.layout.syncSlot(), kSyncBytes};
    return post({}, {&message, 1}, arrived);
  }
  /// expectSync came before. Whatever else arrives meanwhile goes to `arrived`.
  [[nodiscard]] bool awaitSync(Sync what) noexcept { return awaitSync(what, kNothingDue); }
  template <class OnArrived>
  [[nodiscard]] bool awaitSync(Sync what, OnArrived&& arrived) noexcept {
    bool here = false;
    const Ticket due = syncTicket(what, block_.sequence);
    const auto dueOrOther = [&](Ticket ticket) {
      if (ticket != due || here) return arrived(ticket);
      return here = true;
    };
    while (!here) {
      if (!pump(dueOrOther)) return false;
    }
    return true;
  }
  /// Until every send is reported: slots may be used again.
  [[nodiscard]] bool drain() noexcept {
    while (outstanding() != 0) {
      if (!pump(kNothingDue)) return false;
    }
    return true;
  }

  /// Why the last call answered false. `done` messages of this block had arrived.
  [[nodiscard]] Error error(std::uint64_t done) const;

 private:
  static constexpr std::uint64_t kSyncBytes = 8;
  static constexpr auto kNothingDue = [](Ticket) { return false; };

  enum class Stop { kNone, kExpired, kLaneFailed, kUnexpected };
  bool stop(Stop why) noexcept {
    stop_ = why;
    return false;
  }

  const Stage& stage_;
  const Block& block_;
  std::array<Event, 64> events_;
  std::uint64_t submitted_ = 0, sent_ = 0;
  Stop stop_ = Stop::kNone;
  Ticket unexpected_ = 0;
};

}  // namespace gdrbench
