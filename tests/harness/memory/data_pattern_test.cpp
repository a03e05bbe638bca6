// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/data_pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace gdrbench;

namespace {

using Bytes = std::vector<std::byte>;

const DataPattern kPattern(42);

Bytes filled(std::size_t size, std::uint64_t message, const DataPattern& pattern = kPattern) {
  Bytes bytes(size);
  pattern.fill(bytes, message);
  return bytes;
}

std::uint8_t value(std::byte b) {
  return std::to_integer<std::uint8_t>(b);
}

/// All sizes that could matter to loops over words, and some that lie around larger blocks.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t size = 1; size <= 130; ++size) all.push_back(size);
  for (const std::size_t size : {255, 257, 1000, 4095, 4096, 4097, 65537, 1048573}) {
    all.push_back(size);
  }
  return all;
}

}  // namespace

TEST_CASE("what was filled verifies at every size") {
  for (const std::size_t size : sizes()) {
    CAPTURE(size);
    CHECK_FALSE(kPattern.verify(filled(size, 9), 9));
  }
}

TEST_CASE("the words are what a kernel on another device would write") {
  const Bytes bytes = filled(29, 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t word = kPattern.base(3) + (i / 8 + 1) * 0x9e3779b97f4a7c15u;
    CHECK(value(bytes[i]) == ((word >> (i % 8 * 8)) & 0xff));
  }
}

TEST_CASE("a shorter message holds the first bytes of a longer one, and nothing lies beyond it") {
  const Bytes whole = filled(200, 5);
  for (std::size_t size = 0; size <= 130; ++size) {
    Bytes bytes(size + 16, std::byte{0xAA});
    kPattern.fill(std::span(bytes).first(size), 5);
    CAPTURE(size);
    CHECK(std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size),
                     whole.begin()));
    CHECK(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(),
                      [](std::byte b) { return b == std::byte{0xAA}; }));
  }
}

TEST_CASE("no bytes, and no address, are fine") {
  kPattern.fill({}, 1);
  kPattern.poison({}, 1);
  CHECK_FALSE(kPattern.verify({}, 1));
}

TEST_CASE("messages may start at any address") {
  Bytes room(600);
  for (std::size_t shift = 0; shift < 16; ++shift) {
    const std::span<std::byte> bytes = std::span(room).subspan(shift, 515);
    kPattern.fill(bytes, shift);
    CHECK_FALSE(kPattern.verify(bytes, shift));
    CHECK(std::equal(bytes.begin(), bytes.end(), filled(515, shift).begin()));
  }
}

TEST_CASE("one wrong bit anywhere is found, with its place") {
  for (const std::size_t size : {1, 7, 8, 9, 16, 31, 64, 67, 130}) {
    const Bytes good = filled(size, 11);
    for (std::size_t offset = 0; offset < size; ++offset) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes bytes = good;
        bytes[offset] ^= std::byte{1} << bit;
        const auto fault = kPattern.verify(bytes, 11);
        REQUIRE(fault);
        CHECK(fault->message == 11);
        CHECK(fault->offset == offset);
        CHECK(fault->expected == value(good[offset]));
        CHECK(fault->got == value(bytes[offset]));
        CHECK(fault->badBytes == 1);
      }
    }
  }
}

TEST_CASE("each single byte of a large odd message is looked at") {
  constexpr std::size_t kSize = 4099;
  Bytes bytes = filled(kSize, 2);
  for (std::size_t offset = 0; offset < kSize; ++offset) {
    bytes[offset] = ~bytes[offset];
    const auto fault = kPattern.verify(bytes, 2);
    bytes[offset] = ~bytes[offset];
    if (!fault || fault->offset != offset || fault->badBytes != 1) FAIL("missed at ", offset);
  }
  CHECK_FALSE(kPattern.verify(bytes, 2));
}

TEST_CASE("differences that cancel each other are found") {
  const Bytes good = filled(256, 4);
  for (std::size_t offset = 0; offset + 16 < good.size(); ++offset) {
    for (const std::size_t apart : {1, 8, 16}) {
      Bytes bytes = good;
      bytes[offset] ^= std::byte{0x55};
      bytes[offset + apart] ^= std::byte{0x55};
      const auto fault = kPattern.verify(bytes, 4);
      REQUIRE(fault);
      CHECK(fault->offset == offset);
      CHECK(fault->badBytes == 2);
    }
  }
}

TEST_CASE("adjacent bytes that changed places are found unless they are equal") {
  const Bytes good = filled(512, 8);
  for (std::size_t i = 0; i + 1 < good.size(); ++i) {
    if (good[i] == good[i + 1]) continue;
    Bytes bytes = good;
    std::swap(bytes[i], bytes[i + 1]);
    const auto fault = kPattern.verify(bytes, 8);
    REQUIRE(fault);
    CHECK(fault->offset == i);
    CHECK(fault->badBytes == 2);
  }
}

TEST_CASE("another message, another seed, and messages that changed places are found") {
  for (const std::size_t size : {8, 64, 1001}) {
    for (std::uint64_t message = 0; message < 200; ++message) {
      CHECK(kPattern.verify(filled(size, message + 1), message));
      CHECK(kPattern.verify(filled(size, message), message + 1));
      CHECK(DataPattern(43).verify(filled(size, message), message));
    }
  }
}

TEST_CASE("a single byte depends on message and seed") {
  std::set<std::uint8_t> byMessage, bySeed;
  int same = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    byMessage.insert(value(filled(1, i)[0]));
    bySeed.insert(value(filled(1, 0, DataPattern(i))[0]));
    same += filled(1, i) == filled(1, i + 1) ? 1 : 0;
  }
  CHECK(byMessage.size() > 250);
  CHECK(bySeed.size() > 250);
  CHECK(same < 30);  // 8 expected
}

TEST_CASE("data that is shifted, short or repeated is found") {
  const Bytes good = filled(1024, 6);
  for (const std::size_t shift : {1, 3, 8, 16, 64, 512}) {
    Bytes later(good.size());
    std::copy(good.begin(), good.end() - static_cast<std::ptrdiff_t>(shift),
              later.begin() + static_cast<std::ptrdiff_t>(shift));
    CHECK(kPattern.verify(later, 6));
    Bytes earlier = good;
    std::copy(good.begin() + static_cast<std::ptrdiff_t>(shift), good.end(), earlier.begin());
    CHECK(kPattern.verify(earlier, 6));
  }
  for (const std::size_t missing : {1, 2, 7, 8, 100, 1024}) {
    Bytes bytes = good;
    kPattern.poison(bytes, 6);
    std::copy(good.begin(), good.end() - static_cast<std::ptrdiff_t>(missing), bytes.begin());
    const auto fault = kPattern.verify(bytes, 6);
    REQUIRE(fault);
    CHECK(fault->offset == good.size() - missing);
    CHECK(fault->badBytes == missing);
  }
  Bytes blocks = good;
  std::copy_n(good.begin(), 64, blocks.begin() + 64);
  REQUIRE(kPattern.verify(blocks, 6));
  CHECK(kPattern.verify(blocks, 6)->offset >= 64);
}

TEST_CASE("poison differs from the pattern in every byte") {
  for (const std::size_t size : sizes()) {
    Bytes bytes(size);
    kPattern.poison(bytes, 3);
    const Bytes good = filled(size, 3);
    bool all = true;
    for (std::size_t i = 0; i < size; ++i) all = all && bytes[i] == ~good[i];
    CAPTURE(size);
    CHECK(all);
    const auto fault = kPattern.verify(bytes, 3);
    REQUIRE(fault);
    CHECK(fault->offset == 0);
    CHECK(fault->badBytes == size);
  }
}

TEST_CASE("a buffer of zeros or ones is no message") {
  for (const std::size_t size : {8, 64, 4096}) {
    for (std::uint64_t message = 0; message < 100; ++message) {
      CHECK(kPattern.verify(Bytes(size, std::byte{0}), message));
      CHECK(kPattern.verify(Bytes(size, std::byte{0xff}), message));
    }
  }
}

TEST_CASE("message numbers up to the largest make different data") {
  std::set<std::uint64_t> bases;
  for (unsigned bit = 0; bit < 64; ++bit) {
    bases.insert(kPattern.base(std::uint64_t{1} << bit));
    bases.insert(kPattern.base((std::uint64_t{1} << bit) - 1));
    bases.insert(kPattern.base(~std::uint64_t{0} - bit));
  }
  // 1 is both 2^0 and 2^1 - 1.
  CHECK(bases.size() == 64 + 63 + 64);
}

TEST_CASE("a fault reads as one sentence") {
  const DataFault one{.message = 7, .offset = 12, .expected = 0x3c, .got = 0, .badBytes = 1};
  CHECK(one.what(64) == "message 7, offset 12: expected 0x3c, got 0x00 (1 bad byte of 64)");
  const DataFault more{.message = 0, .offset = 0, .expected = 1, .got = 0xff, .badBytes = 64};
  CHECK(more.what(64) == "message 0, offset 0: expected 0x01, got 0xff (64 bad bytes of 64)");
}
