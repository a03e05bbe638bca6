// SPDX-License-Identifier: Apache-2.0
// How the bounce memory is cut. The same on both sides, because a chunk travels from a slot to the
// peer's slot of the same number.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/core/option.h"
#include "transports/transport.h"

namespace gdrbench::staged {

struct Geometry {
  std::uint64_t chunk = 0;   ///< messages are cut into pieces of this size
  std::uint64_t stride = 0;  ///< of the bounce slots
  std::uint32_t slots = 0;   ///< chunks that may be on their way at once, in each direction

  bool operator==(const Geometry&) const = default;

  [[nodiscard]] SlotLayout layout() const noexcept { return {.stride = stride, .count = slots}; }

  /// Bounce memory is depth x chunk in each direction. Messages that are smaller than a chunk get
  /// smaller slots and so more of them: a stream of small messages is not held up by the depth.
  static Geometry of(const OptionSet& options, const LaneSpec& spec) {
    constexpr std::uint64_t kMostSmallSlots = 1024;
    const auto chunk = static_cast<std::uint64_t>(options.integer("chunk"));
    const auto depth = static_cast<std::uint64_t>(options.integer("depth"));
    // A sync message is one piece too.
    const std::uint64_t piece =
        std::max(SlotLayout::kSyncBytes, std::min(chunk, spec.messageBytes));
    const std::uint64_t stride = (piece + 63) / 64 * 64;
    const std::uint64_t slots =
        std::clamp(depth * chunk / stride, depth, std::max(depth, kMostSmallSlots));
    return {.chunk = piece, .stride = stride, .slots = static_cast<std::uint32_t>(slots)};
  }
};

}  // namespace gdrbench::staged
