// SPDX-License-Identifier: Apache-2.0
// The life of the messages of one direction of a lane that moves them in order: accepted by submit,
// moved, reported by poll. One ring holds all three, so that nothing is copied from queue to queue
// and there is always room for an event: a message leaves the ring when it has been reported.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transports/transport.h"

namespace gdrbench {

/// Bytes that a slot can hold; 0 for a slot that the layout does not have.
inline std::uint64_t slotCapacity(const SlotLayout& layout, std::uint32_t slot) noexcept {
  if (slot < layout.count) return layout.stride;
  return slot == layout.syncSlot() ? SlotLayout::kSyncBytes : 0;
}

inline bool fits(const SlotLayout& layout, const Message& message) noexcept {
  return message.slot <= layout.syncSlot() && message.bytes <= slotCapacity(layout, message.slot);
}

class MessageQueue {
 public:
  /// Room for twice the window and some sync messages, so that a harness that keeps its window
  /// never meets back-pressure.
  explicit MessageQueue(std::uint32_t window)
      : ring_(std::bit_ceil(std::size_t{2} * window + 16)), mask_(ring_.size() - 1) {}

  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.size(); }

  /// Takes as many as there is room for, from the front; answers how many.
  std::size_t accept(std::span<const Message> messages) noexcept {
    const std::size_t room = ring_.size() - (accepted_ - reported_);
    const std::size_t taken = std::min(room, messages.size());
    for (std::size_t i = 0; i < taken; ++i) ring_[(accepted_ + i) & mask_] = messages[i];
    accepted_ += taken;
    return taken;
  }

  /// Accepted and not yet moved.
  [[nodiscard]] std::size_t waiting() const noexcept { return accepted_ - moved_; }
  /// Where the i-th of them lies: stable while it lives, below capacity().
  [[nodiscard]] std::size_t position(std::size_t i) const noexcept { return (moved_ + i) & mask_; }
  [[nodiscard]] const Message& at(std::size_t i) const noexcept { return ring_[position(i)]; }
  [[nodiscard]] const Message& front() const noexcept { return at(0); }

  /// The first `count` waiting ones have been moved.
  void finish(std::size_t count = 1) noexcept { moved_ += count; }

  /// Writes one event for each message that was moved and not yet reported.
  std::size_t report(Event::Kind kind, std::span<Event> events) noexcept {
    const std::size_t count = std::min(moved_ - reported_, events.size());
    for (std::size_t i = 0; i < count; ++i) {
      events[i] = {kind, ring_[(reported_ + i) & mask_].ticket};
    }
    reported_ += count;
    return count;
  }

 private:
  std::vector<Message> ring_;
  std::size_t mask_;
  std::size_t accepted_ = 0, moved_ = 0, reported_ = 0;  // count up for ever; masked on use
};

}  // namespace gdrbench
