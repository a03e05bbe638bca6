// SPDX-License-Identifier: Apache-2.0
// Which messages of the peer are expected, which came early, and which are to be reported. Over
// several queue pairs they come out of order, so they are matched by ticket; those that do come in
// order cost one compare. Hot: nothing allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "transports/ticket_ring.h"

namespace gdrbench::verbs {

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
