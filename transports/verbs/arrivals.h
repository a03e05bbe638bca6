// SPDX-License-Identifier: Apache-2.0
// Which messages of the peer are expected, which came early, and which are to be reported. Over
// several queue pairs they come out of order, so they are matched by ticket; those that do come in
// order cost one compare. Hot: nothing allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "transports/transport.h"

namespace gdrbench::verbs {

/// A queue of tickets with room for a fixed number.
class TicketRing {
 public:
  explicit TicketRing(std::size_t capacity) : slots_(capacity) {}
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t room() const noexcept { return slots_.size() - count_; }
  void push(Ticket ticket) noexcept {
    slots_[wrap(first_ + count_)] = ticket;
    ++count_;
  }
  Ticket pop() noexcept {
    const Ticket ticket = slots_[first_];
    first_ = wrap(first_ + 1);
    --count_;
    return ticket;
  }
  /// True when it was there.
  bool remove(Ticket ticket) noexcept {
    std::size_t at = 0;
    while (at < count_ && slots_[wrap(first_ + at)] != ticket) ++at;
    if (at == count_) return false;
    for (; at != 0; --at) slots_[wrap(first_ + at)] = slots_[wrap(first_ + at - 1)];
    pop();
    return true;
  }

 private:
  [[nodiscard]] std::size_t wrap(std::size_t i) const noexcept {
    return i >= slots_.size() ? i - slots_.size() : i;
  }
  std::vector<Ticket> slots_;
  std::size_t first_ = 0, count_ = 0;
};

class Arrivals {
 public:
  /// `receives`: how many messages can arrive before this side has taken notice.
  Arrivals(std::size_t expects, std::size_t receives)
      : expected_(expects), early_(receives), ready_(expects + receives) {}

  /// False: no room.
  [[nodiscard]] bool expect(Ticket ticket) noexcept {
    if (expected_.room() == 0 || ready_.room() == 0) return false;
    (!early_.empty() && early_.remove(ticket) ? ready_ : expected_).push(ticket);
    return true;
  }
  /// Only while roomForArrivals() is not 0.
  void arrive(Ticket ticket) noexcept { (expected_.remove(ticket) ? ready_ : early_).push(ticket); }
  /// A message that was matched by other means.
  void arriveMatched(Ticket ticket) noexcept { ready_.push(ticket); }
  [[nodiscard]] std::size_t roomForArrivals() const noexcept {
    return std::min(early_.room(), ready_.room());
  }

  std::size_t report(std::span<Event> events) noexcept {
    std::size_t n = 0;
    while (n < events.size() && !ready_.empty())
      events[n++] = {Event::Kind::kArrived, ready_.pop()};
    return n;
  }

 private:
  TicketRing expected_, early_, ready_;
};

}  // namespace gdrbench::verbs
