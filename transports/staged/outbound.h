// SPDX-License-Identifier: Apache-2.0
// From the GPU to the wire. Each chunk goes through four counts, and each count follows the one
// before: copy enqueued, copied into its bounce slot, handed to the wire, slot free again.
#pragma once

#include <span>

#include "transports/staged/copy_stream.h"
#include "transports/staged/geometry.h"
#include "transports/staged/slot_ring.h"

namespace gdrbench::staged {

class Outbound {
 public:
  Outbound(const LaneSpec& spec, const Geometry& geometry, CopyStream copies,
           cuda::DevicePointer gpu, std::byte* bounce)
      : messages_(spec, geometry.chunk),
        ring_(geometry.layout()),
        copies_(std::move(copies)),
        gpu_(gpu),
        bounce_(cuda::pointer(bounce)) {}

  std::size_t accept(std::span<const Send> sends) noexcept { return messages_.accept(sends); }

  /// Starts to fill the bounce slots that are free. False when the driver refused.
  bool copy() noexcept;
  /// Notes the copies that have finished. False when one failed.
  bool settle() noexcept { return copies_.settle(); }
  /// Hands what was copied to the wire, up to the chunk that the peer has no room for.
  void send(Lane& wire, Chunk granted) noexcept;
  /// The wire has read a slot. False for a ticket that it was not given.
  bool onSent(Ticket ticket) noexcept;

  /// A message is sent when the wire has taken its last chunk. Its slot could be written again as
  /// soon as that has left the GPU, but who was told "sent" need not poll any more, and without
  /// that the chunk would not go on.
  std::size_t report(std::span<Event> events) noexcept {
    return messages_.report(Event::Kind::kSent, events);
  }

  [[nodiscard]] Chunk sent() const noexcept { return sent_; }
  /// Chunks that are copied and wait for the wire or the peer.
  [[nodiscard]] bool waits() const noexcept { return sent_ != copies_.finished(); }
  [[nodiscard]] const CopyStream& copies() const noexcept { return copies_; }

 private:
  PieceQueue messages_;
  SlotRing ring_;
  CopyStream copies_;
  cuda::DevicePointer gpu_, bounce_;
  Chunk sent_ = 0, freed_ = 0;
};

}  // namespace gdrbench::staged
