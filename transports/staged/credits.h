// SPDX-License-Identifier: Apache-2.0
// Room in the peer's bounce slots. The wire must not write a slot whose bytes have not been copied
// to the GPU yet, and no wire knows about that: so the receiver gives the slots back, by messages
// on a lane of their own. They cannot share the lane of the data: expects are posted in the order
// in which the peer sends, and only the peer knows when a slot becomes free.
//
// A credit is always worth the same number of chunks: that it arrived is all that it says, and
// nobody has to read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transports/staged/slot_ring.h"
#include "transports/transport.h"

namespace gdrbench::staged {

class Credits {
 public:
  /// `slots`: of the data lane, the same on both sides.
  Credits(std::unique_ptr<Lane> lane, std::uint32_t slots)
      : lane_(std::move(lane)), slots_(slots), worth_(worth(slots)) {}

  static constexpr std::uint32_t worth(std::uint32_t slots) noexcept {
    return std::max(1u, slots / 4);
  }
  /// What the lane must take: all that can be outstanding.
  static constexpr std::uint32_t window(std::uint32_t slots) noexcept {
    return slots / worth(slots) + 1;
  }
  static constexpr std::uint64_t kBytes = 8;
  /// Their bytes never change, so all credits can share one slot.
  static constexpr SlotLayout kLayout{.stride = 64, .count = 1};

  /// Chunks that the peer has room for, counted from the first one ever.
  [[nodiscard]] Chunk granted() const noexcept { return slots_ + received_ * worth_; }

  /// It cannot wait for a quiet moment: this side is about to run out of room, or the peer is.
  [[nodiscard]] bool pressing(Chunk sent, Chunk done) const noexcept {
    return granted() == sent || done - given_ * worth_ >= std::max(1u, slots_ / 2);
  }

  /// Gives back what is done, and looks for credits when fewer than half of the slots are left.
  /// False when the lane has failed.
  bool exchange(Chunk sent, Chunk done) noexcept;

  [[nodiscard]] Error errorDetail() const { return lane_->errorDetail(); }

 private:
  void expectMore() noexcept;
  void give(Chunk done) noexcept;
  void look() noexcept;

  std::unique_ptr<Lane> lane_;
  std::uint32_t slots_, worth_;
  std::uint64_t expected_ = 0, received_ = 0;   // credits of the peer
  std::uint64_t given_ = 0, givenForGood_ = 0;  // credits to the peer: submitted, reported as sent
  bool failed_ = false;
};

}  // namespace gdrbench::staged
