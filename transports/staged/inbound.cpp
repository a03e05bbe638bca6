// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/inbound.h"

namespace gdrbench::staged {

void Inbound::expect(Lane& wire) noexcept {
  while (!messages_.empty() && cut_ - done_ < ring_.size()) ring_[cut_++] = messages_.take();
  expected_ = ring_.handOver(expected_, cut_, [&](std::span<const Expect> expects) {
    return wire.submit({}, expects).expects;
  });
}

bool Inbound::onArrived(Ticket ticket) noexcept {
  return ring_.mark(ticket, copies_.enqueued(), expected_);
}

bool Inbound::copy() noexcept {
  while (copies_.enqueued() != expected_ && ring_.passMark(copies_.enqueued())) {
    const Chunk chunk = copies_.enqueued();
    const Piece piece = ring_[chunk];
    if (!copies_.copy(gpu_ + piece.offset, bounce_ + ring_.offsetOf(chunk), piece.bytes)) {
      return false;
    }
  }
  return true;
}

bool Inbound::settle() noexcept {
  if (!copies_.settle()) return false;
  for (; done_ != copies_.finished(); ++done_) {
    if (ring_[done_].last) messages_.finish();
  }
  return true;
}

}  // namespace gdrbench::staged
