// SPDX-License-Identifier: Apache-2.0
// A queue of tickets with room for a fixed number: for transports whose messages may arrive in
// another order than they were expected in. Hot: nothing allocates.
#pragma once

#include <cstddef>
#include <vector>

#include "transports/transport.h"

namespace gdrbench {

class TicketRing {
 public:
  explicit TicketRing(std::size_t capacity) : slots_(capacity) {}
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == slots_.size(); }
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
  /// True when it was there. Those who leave in the order in which they came cost one compare.
  bool remove(Ticket ticket) noexcept {
    if (count_ != 0 && slots_[first_] == ticket) {
      pop();
      return true;
    }
    return removeLater(ticket);
  }

 private:
  bool removeLater(Ticket ticket) noexcept {
    std::size_t at = 0;
    while (at < count_ && slots_[wrap(first_ + at)] != ticket) ++at;
    if (at == count_) return false;
    for (; at != 0; --at) slots_[wrap(first_ + at)] = slots_[wrap(first_ + at - 1)];
    pop();
    return true;
  }
  [[nodiscard]] std::size_t wrap(std::size_t i) const noexcept {
    return i >= slots_.size() ? i - slots_.size() : i;
  }
  std::vector<Ticket> slots_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace gdrbench
