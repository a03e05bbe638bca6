// SPDX-License-Identifier: Apache-2.0
// From the wire to the GPU. Each chunk goes through four counts, and each count follows the one
// before: expected of the wire, arrived in its bounce slot, copy enqueued, on the GPU.
#pragma once

#include <span>

#include "transports/staged/copy_stream.h"
#include "transports/staged/geometry.h"
#include "transports/staged/slot_ring.h"

namespace gdrbench::staged {

class Inbound {
 public:
  Inbound(const LaneSpec& spec, const Geometry& geometry, CopyStream copies,
          cuda::DevicePointer gpu, std::byte* bounce)
      : messages_(spec, geometry.chunk),
        ring_(geometry.layout()),
        copies_(std::move(copies)),
        gpu_(gpu),
        bounce_(cuda::pointer(bounce)) {}

  std::size_t accept(std::span<const Expect> expects) noexcept { return messages_.accept(expects); }

  /// Tells the wire what comes next, for every slot that is free: in the order in which the peer
  /// sends.
  void expect(Lane& wire) noexcept;
  /// A chunk is there. False for a ticket that was not expected.
  bool onArrived(Ticket ticket) noexcept;
  /// Starts to empty the slots that were filled. False when the driver refused.
  bool copy() noexcept;
  /// Notes the copies that have finished. False when one failed.
  bool settle() noexcept;

  std::size_t report(std::span<Event> events) noexcept {
    return messages_.report(Event::Kind::kArrived, events);
  }

  /// Chunks that are on the GPU: their slots may be written again.
  [[nodiscard]] Chunk done() const noexcept { return done_; }
  /// Something is expected that has not arrived.
  [[nodiscard]] bool waits() const noexcept { return cut_ != copies_.enqueued(); }
  [[nodiscard]] const CopyStream& copies() const noexcept { return copies_; }

 private:
  PieceQueue messages_;
  SlotRing ring_;
  CopyStream copies_;
  cuda::DevicePointer gpu_, bounce_;
  Chunk cut_ = 0, expected_ = 0, done_ = 0;
};

}  // namespace gdrbench::staged
