// SPDX-License-Identifier: Apache-2.0
// The messages of one direction, seen as pieces of at most a chunk each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "transports/message_queue.h"

namespace gdrbench::staged {

struct Piece {
  std::uint64_t offset = 0;  ///< in the buffer on the GPU
  std::uint64_t bytes = 0;
  bool last = false;  ///< of its message
};

class PieceQueue {
 public:
  PieceQueue(const LaneSpec& spec, std::uint64_t chunk)
      : queue_(spec.window), layout_(spec.layout), chunk_(chunk) {}

  std::size_t accept(std::span<const Message> messages) noexcept { return queue_.accept(messages); }

  [[nodiscard]] bool empty() const noexcept { return cut_ == queue_.waiting(); }

  /// The next piece, in the order of the messages. Only when not empty.
  Piece take() noexcept {
    const Message& message = queue_.at(cut_);
    const std::uint64_t bytes = std::min(message.bytes - taken_, chunk_);
    const Piece piece{.offset = layout_.offsetOf(message.slot) + taken_,
                      .bytes = bytes,
                      .last = taken_ + bytes == message.bytes};
    taken_ = piece.last ? 0 : taken_ + bytes;
    if (piece.last) ++cut_;
    return piece;
  }

  /// All pieces of the oldest message are where they belong.
  void finish() noexcept {
    queue_.finish();
    --cut_;
  }

  std::size_t report(Event::Kind kind, std::span<Event> events) noexcept {
    return queue_.report(kind, events);
  }

 private:
  MessageQueue queue_;
  SlotLayout layout_;
  std::uint64_t chunk_;
  std::size_t cut_ = 0;      // waiting messages that were cut to their end
  std::uint64_t taken_ = 0;  // bytes of the one that is being cut
};

}  // namespace gdrbench::staged
