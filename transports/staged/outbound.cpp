// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/outbound.h"

#include <algorithm>

namespace gdrbench::staged {

bool Outbound::copy() noexcept {
  while (!messages_.empty() && copies_.enqueued() - freed_ < ring_.size()) {
    const Chunk chunk = copies_.enqueued();
    const Piece piece = ring_[chunk] = messages_.take();
    if (!copies_.copy(bounce_ + ring_.offsetOf(chunk), gpu_ + piece.offset, piece.bytes)) {
      return false;
    }
  }
  return true;
}

void Outbound::send(Lane& wire, Chunk granted) noexcept {
  sent_ = ring_.handOver(sent_, std::min(copies_.finished(), granted),
                         [&](std::span<const Send> sends) { return wire.submit(sends, {}).sends; });
}

bool Outbound::onSent(Ticket ticket) noexcept {
  if (!ring_.mark(ticket, freed_, sent_)) return false;
  for (; freed_ != sent_ && ring_.passMark(freed_); ++freed_) {
    if (ring_[freed_].last) messages_.finish();
  }
  return true;
}

}  // namespace gdrbench::staged
