// SPDX-License-Identifier: Apache-2.0
// Two lanes of one process that pass messages through a pair of queues. No data moves: patterns are
// about order, counts and tickets.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "transports/transport.h"

namespace gdrbench::test {

/// What one side has submitted, and what it will be told.
class PairLane final : public Lane {
 public:
  /// `pull`: expects of data slots complete by themselves, as reads do.
  PairLane(std::uint32_t syncSlot, bool pull) : syncSlot_(syncSlot), pull_(pull) {}
  void joinTo(PairLane& peer) { peer_ = &peer; }

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override {
    std::size_t takenSends = 0;
    for (; takenSends < sends.size() && takenSends < acceptAtOnce; ++takenSends) {
      const Send& send = sends[takenSends];
      {
        const std::lock_guard lock(peer_->mutex_);
        peer_->incoming_.push_back(send);
      }
      log.push_back(send);
      tell({Event::Kind::kSent, send.ticket});
      outstanding = std::max(outstanding, ++unreported_);
    }
    std::size_t takenExpects = 0;
    for (; takenExpects < expects.size() && takenExpects < acceptAtOnce; ++takenExpects) {
      const Expect& expect = expects[takenExpects];
      if (pull_ && expect.slot != syncSlot_) {
        tell({Event::Kind::kArrived, expect.ticket});
      } else {
        expected_.push_back(expect);
      }
    }
    return {takenSends, takenExpects};
  }

  std::size_t poll(std::span<Event> events) noexcept override {
    if (failNext) {
      events[0] = {Event::Kind::kFailed, 0};
      return 1;
    }
    match();
    std::size_t n = 0;
    while (n < events.size() && !events_.empty()) {
      if (events_.front().kind == Event::Kind::kSent) --unreported_;
      events[n++] = events_.front();
      events_.pop_front();
    }
    return n;
  }

  [[nodiscard]] Error errorDetail() const override {
    return {.code = ErrorCode::kTransport, .tried = "send", .nativeText = "the cable is cut"};
  }

  std::size_t acceptAtOnce = 64;  ///< back-pressure
  bool failNext = false;
  bool duplicateArrivals = false;
  std::vector<Send> log;
  std::size_t outstanding = 0;  ///< most sends that were not reported yet

 private:
  void tell(Event event) { events_.push_back(event); }
  void match() {
    const std::lock_guard lock(mutex_);
    while (!incoming_.empty() && !expected_.empty()) {
      const Ticket ticket = expected_.front().ticket;
      good = good && ticket == incoming_.front().ticket;
      tell({Event::Kind::kArrived, ticket});
      if (duplicateArrivals) tell({Event::Kind::kArrived, ticket});
      incoming_.pop_front();
      expected_.pop_front();
    }
  }

 public:
  bool good = true;  ///< what was expected next is what came next

 private:
  std::uint32_t syncSlot_;
  bool pull_;
  PairLane* peer_ = nullptr;
  std::mutex mutex_;
  std::deque<Send> incoming_;
  std::deque<Expect> expected_;
  std::deque<Event> events_;
  std::size_t unreported_ = 0;
};

}  // namespace gdrbench::test
