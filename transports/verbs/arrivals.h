// SPDX-License-Identifier: Apache-2.0
// Which messages of the peer are expected, which came early, and which are to be reported. Over
// several queue pairs they come out of order, so they are matched by ticket; those that do come in
// order cost one compare. Hot: nothing allocates.
#pragma once

#include <cstddef>
#include <span>

#include "transports/ticket_ring.h"

namespace gdrbench::verbs {

class Arrivals {
 public:
  /// `receives`: how many messages can arrive before this side has taken notice.
  Arrivals(std::size_t expects, std::size_t receives)
      : expected_(expects), early_(receives), ready_(receives) {}

  /// False: no room.
  [[nodiscard]] bool expect(Ticket ticket) noexcept {
    if (expected_.full() || ready_.full()) return false;
    (!early_.empty() && early_.remove(ticket) ? ready_ : expected_).push(ticket);
    return true;
  }

  /// How many receives may be posted beyond those that are: what uses one must find room here.
  [[nodiscard]] std::size_t roomForReceives() const noexcept { return early_.room() - receives_; }
  void receivesPosted(std::size_t count) noexcept { receives_ += count; }

  /// One of the receives was used. True: the message is expected, and to be reported now.
  [[nodiscard]] bool arrive(Ticket ticket) noexcept {
    --receives_;
    if (expected_.remove(ticket)) return true;
    early_.push(ticket);
    return false;
  }

  /// Those that came early and are expected by now.
  [[nodiscard]] bool hasReady() const noexcept { return !ready_.empty(); }
  std::size_t report(std::span<Event> events) noexcept {
    std::size_t n = 0;
    while (n < events.size() && !ready_.empty())
      events[n++] = {Event::Kind::kArrived, ready_.pop()};
    return n;
  }

 private:
  TicketRing expected_, early_, ready_;
  std::size_t receives_ = 0;  ///< posted and not used
};

}  // namespace gdrbench::verbs
