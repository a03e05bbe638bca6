// SPDX-License-Identifier: Apache-2.0
// A queue of tickets with room for a fixed number: for transports whose messages may arrive in
// another order than they were expected in. Hot: nothing allocates.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "transports/transport.h"

namespace gdrbench {

class TicketRing {
 public:
  explicit TicketRing(std::size_t capacity)
      : capacity_(capacity), slots_(std::bit_ceil(capacity)), mask_(slots_.size() - 1) {}
  [[nodiscard]] bool empty() const noexcept { return first_ == end_; }
  [[nodiscard]] bool full() const noexcept { return end_ - first_ == capacity_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - (end_ - first_); }
  void push(Ticket ticket) noexcept { at(end_++) = ticket; }
  Ticket pop() noexcept { return at(first_++); }
  /// True when it was there. Those who leave in the order in which they came cost one compare.
  bool remove(Ticket ticket) noexcept {
    if (empty()) return false;
    if (at(first_) != ticket) return removeLater(ticket);
    ++first_;
    return true;
  }

 private:
  [[nodiscard]] Ticket& at(std::size_t i) noexcept { return slots_[i & mask_]; }
  bool removeLater(Ticket ticket) noexcept {
    std::size_t i = first_;
    while (i != end_ && at(i) != ticket) ++i;
    if (i == end_) return false;
    for (; i != first_; --i) at(i) = at(i - 1);
    ++first_;
    return true;
  }

  std::size_t capacity_;
  std::vector<Ticket> slots_;
  std::size_t mask_;
  std::size_t first_ = 0, end_ = 0;  // count up for ever
};

}  // namespace gdrbench
