// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/data_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace gdrbench {
namespace {

/// Odd, so that the words of a message differ from each other; and with all bytes in play.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;

/// The finalizer of splitmix64: every bit of the input reaches every byte of the output.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t littleEndian(std::uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

std::uint64_t wordOf(std::uint64_t base, std::uint64_t k) {
  return littleEndian(base + (k + 1) * kStep);
}

template <bool kInverted>
void write(std::span<std::byte> bytes, std::uint64_t base) {
  const std::size_t words = bytes.size() / 8;
  for (std::size_t k = 0; k < words; ++k) {
    const std::uint64_t word = kInverted ? ~wordOf(base, k) : wordOf(base, k);
    std::memcpy(bytes.data() + k * 8, &word, 8);
  }
  // No bytes may also mean no address, which memcpy does not take.
  if (bytes.size() % 8 == 0) return;
  const std::uint64_t last = kInverted ? ~wordOf(base, words) : wordOf(base, words);
  std::memcpy(bytes.data() + words * 8, &last, bytes.size() % 8);
}

/// OR of all differences: no early exit, so that the compiler can take several words at a time.
bool same(std::span<const std::byte> bytes, std::uint64_t base) {
  const std::size_t words = bytes.size() / 8;
  std::uint64_t difference = 0;
  for (std::size_t k = 0; k < words; ++k) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + k * 8, 8);
    difference |= word ^ wordOf(base, k);
  }
  if (difference != 0 || bytes.size() % 8 == 0) return difference == 0;
  const std::uint64_t last = wordOf(base, words);
  return std::memcmp(bytes.data() + words * 8, &last, bytes.size() % 8) == 0;
}

std::uint8_t byteAt(std::uint64_t base, std::uint64_t offset) {
  const std::uint64_t word = wordOf(base, offset / 8);
  std::array<std::uint8_t, 8> bytes{};
  std::memcpy(bytes.data(), &word, 8);
  return bytes[offset % 8];
}

}  // namespace

std::string DataFault::what(std::uint64_t messageBytes) const {
  return fmt::format("message {}, offset {}: expected 0x{:02x}, got 0x{:02x} ({} bad byte{} of {})",
                     message, offset, expected, got, badBytes, badBytes == 1 ? "" : "s",
                     messageBytes);
}

std::uint64_t DataPattern::base(std::uint64_t message) const {
  return mix(mixedSeed() ^ (message * 0xd1342543de82ef95u + 1));
}

std::uint64_t DataPattern::mixedSeed() const {
  return mix(seed_ + kStep);
}

void DataPattern::fill(std::span<std::byte> bytes, std::uint64_t message) const {
  write<false>(bytes, base(message));
}

void DataPattern::poison(std::span<std::byte> bytes, std::uint64_t message) const {
  write<true>(bytes, base(message));
}

std::optional<DataFault> DataPattern::verify(std::span<const std::byte> bytes,
                                             std::uint64_t message) const {
  const std::uint64_t start = base(message);
  if (same(bytes, start)) return {};
  DataFault fault{.message = message};
  for (std::uint64_t offset = 0; offset < bytes.size(); ++offset) {
    const auto got = std::to_integer<std::uint8_t>(bytes[offset]);
    const std::uint8_t expected = byteAt(start, offset);
    if (got == expected) continue;
    if (fault.badBytes++ == 0) {
      fault.offset = offset;
      fault.expected = expected;
      fault.got = got;
    }
  }
  return fault;
}

}  // namespace gdrbench
