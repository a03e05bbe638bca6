// SPDX-License-Identifier: Apache-2.0
// The bytes that messages carry: a function of seed, message number and offset, so that a message
// that arrives in the wrong place, twice, late or damaged does not look right.
//
// Little-endian 64-bit words: word k of message m is h(seed, m) + (k + 1) * C, C odd; the last
// word is cut. Every byte of a 1-byte message depends on seed and message number as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gdrbench {

/// The first byte that is not what was sent.
struct DataFault {
  std::uint64_t message = 0;  ///< message number, counted over the whole run, warm-up included
  std::uint64_t offset = 0;   ///< of the first bad byte in that message
  std::uint8_t expected = 0;
  std::uint8_t got = 0;
  std::uint64_t badBytes = 0;  ///< in that message
  /// "message 7, offset 12: expected 0x3c, got 0x00 (1 bad byte of 64)".
  [[nodiscard]] std::string what(std::uint64_t messageBytes) const;
};

class DataPattern {
 public:
  explicit DataPattern(std::uint64_t seed) : seed_(seed) {}

  void fill(std::span<std::byte> bytes, std::uint64_t message) const;
  /// The complement of the pattern.
  void poison(std::span<std::byte> bytes, std::uint64_t message) const;
  [[nodiscard]] std::optional<DataFault> verify(std::span<const std::byte> bytes,
                                                std::uint64_t message) const;
  /// h(seed, message).
  [[nodiscard]] std::uint64_t base(std::uint64_t message) const;
  /// What a kernel on another device needs to compute base() by itself.
  [[nodiscard]] std::uint64_t mixedSeed() const;

 private:
  std::uint64_t seed_;
};

}  // namespace gdrbench
