// SPDX-License-Identifier: Apache-2.0
// The bounce slots of one direction. Chunks are numbered for ever, from 0: chunk n lies in slot
// n modulo the count, and its number is its ticket on the wire.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "transports/staged/piece_queue.h"

namespace gdrbench::staged {

using Chunk = std::uint64_t;

class SlotRing {
 public:
  explicit SlotRing(const SlotLayout& layout)
      : layout_(layout), pieces_(layout.count), marks_(layout.count, 0) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return layout_.count; }
  [[nodiscard]] Piece& operator[](Chunk chunk) noexcept { return pieces_[slotOf(chunk)]; }
  [[nodiscard]] std::uint64_t offsetOf(Chunk chunk) const noexcept {
    return layout_.offsetOf(slotOf(chunk));
  }

  /// Some wires complete out of order: what the event names is marked, and passed in order.
  /// False for a ticket that is not of a chunk in [first, end), or came before.
  bool mark(Ticket ticket, Chunk first, Chunk end) noexcept {
    const Chunk chunk = first + static_cast<Ticket>(ticket - static_cast<Ticket>(first));
    if (chunk >= end || marks_[slotOf(chunk)] != 0) return false;
    marks_[slotOf(chunk)] = 1;
    return true;
  }
  [[nodiscard]] bool passMark(Chunk chunk) noexcept {
    return std::exchange(marks_[slotOf(chunk)], std::uint8_t{0}) != 0;
  }

  /// Hands the chunks [first, end) as messages to `submit`, which answers how many it took.
  /// Answers the first one that was not taken.
  template <class Submit>
  [[nodiscard]] Chunk handOver(Chunk first, Chunk end, Submit&& submit) noexcept {
    std::array<Message, 32> batch;
    while (first < end) {
      const auto count = static_cast<std::size_t>(std::min<Chunk>(end - first, batch.size()));
      for (std::size_t i = 0; i < count; ++i) batch[i] = message(first + i);
      const std::size_t taken = submit(std::span<const Message>(batch.data(), count));
      first += taken;
      if (taken != count) break;
    }
    return first;
  }

 private:
  [[nodiscard]] std::uint32_t slotOf(Chunk chunk) const noexcept {
    return static_cast<std::uint32_t>(chunk % layout_.count);
  }
  [[nodiscard]] Message message(Chunk chunk) const noexcept {
    const std::uint32_t slot = slotOf(chunk);
    return {static_cast<Ticket>(chunk), slot, pieces_[slot].bytes};
  }

  SlotLayout layout_;
  std::vector<Piece> pieces_;
  std::vector<std::uint8_t> marks_;
};

}  // namespace gdrbench::staged
