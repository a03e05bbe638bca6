// SPDX-License-Identifier: Apache-2.0
// Completions name their queue by their number: which queue pair, and which of its two queues.
// Valid also where nothing else of a completion is.
#pragma once

#include <cstdint>

namespace gdrbench::verbs {

struct CompletionName {
  static constexpr std::uint64_t of(std::uint8_t index, bool receive) noexcept {
    return std::uint64_t{index} << 1 | (receive ? 1u : 0u);
  }
  static constexpr std::uint64_t of(std::uint64_t number, std::uint64_t queue) noexcept {
    return number << 8 | queue;
  }
  static constexpr std::uint64_t number(std::uint64_t id) noexcept { return id >> 8; }
  static constexpr std::uint8_t index(std::uint64_t id) noexcept {
    return static_cast<std::uint8_t>(id >> 1 & 0x7f);
  }
  static constexpr bool isReceive(std::uint64_t id) noexcept { return (id & 1) != 0; }
};

}  // namespace gdrbench::verbs
