// SPDX-License-Identifier: Apache-2.0
// The parts of the staged path by themselves: how messages are cut and slots are counted.
#include <doctest/doctest.h>

#include "transports/staged/credits.h"
#include "transports/staged/geometry.h"
#include "transports/staged/slot_ring.h"
#include "transports/staged/staged_transport.h"

namespace gdrbench::staged {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

OptionSet staging(std::int64_t chunk, std::int64_t depth) {
  OptionSet set = OptionSet::defaults(options());
  set.set("chunk", {chunk});
  set.set("depth", {depth});
  return set;
}

Geometry geometry(std::int64_t chunk, std::int64_t depth, std::uint64_t messageBytes) {
  return Geometry::of(staging(chunk, depth), {.messageBytes = messageBytes});
}

std::vector<std::uint64_t> sizesOf(std::uint64_t message, std::uint64_t chunk) {
  PieceQueue queue({.layout = {.stride = kMiB, .count = 4}, .window = 4}, chunk);
  const Message one{7, 2, message};
  REQUIRE(queue.accept({&one, 1}) == 1);
  std::vector<std::uint64_t> sizes;
  std::uint64_t at = 2 * kMiB;
  while (!queue.empty()) {
    const Piece piece = queue.take();
    CHECK(piece.offset == at);
    CHECK(piece.last == queue.empty());
    at += piece.bytes;
    sizes.push_back(piece.bytes);
  }
  return sizes;
}

}  // namespace

TEST_CASE("messages are cut at multiples of the chunk") {
  using Sizes = std::vector<std::uint64_t>;
  CHECK(sizesOf(0, 4096) == Sizes{0});
  CHECK(sizesOf(1, 4096) == Sizes{1});
  CHECK(sizesOf(4095, 4096) == Sizes{4095});
  CHECK(sizesOf(4096, 4096) == Sizes{4096});
  CHECK(sizesOf(4097, 4096) == Sizes{4096, 1});
  CHECK(sizesOf(3 * 4096, 4096) == Sizes{4096, 4096, 4096});
}

TEST_CASE("bounce memory is depth x chunk, and small messages get more slots of it") {
  CHECK(geometry(kMiB, 8, 64 * kMiB) == Geometry{kMiB, kMiB, 8});
  CHECK(geometry(kMiB, 8, kMiB) == Geometry{kMiB, kMiB, 8});
  CHECK(geometry(kMiB, 8, 64 * kKiB) == Geometry{64 * kKiB, 64 * kKiB, 128});
  CHECK(geometry(kMiB, 8, 100) == Geometry{100, 128, 1024});
  CHECK(geometry(kMiB, 1, 4 * kMiB).slots == 1);
  // A sync message is always one piece.
  CHECK(geometry(4 * kKiB, 1, 1).chunk == SlotLayout::kSyncBytes);
  // Slots are aligned, chunks need not be; there are never fewer than the depth.
  CHECK(geometry(4100, 3, kMiB) == Geometry{4100, 4160, 3});
}

TEST_CASE("marks are passed in order, and known by ticket across the end of 32 bits") {
  SlotRing ring({.stride = 64, .count = 3});
  const Chunk first = 0xffff'fffe;
  CHECK(ring.mark(0, first, first + 3));  // the third of them
  CHECK_FALSE(ring.passMark(first));
  CHECK(ring.mark(0xffff'fffe, first, first + 3));
  CHECK_FALSE(ring.mark(0xffff'fffe, first, first + 3));
  CHECK(ring.passMark(first));
  CHECK_FALSE(ring.passMark(first + 1));
  CHECK(ring.mark(0xffff'ffff, first + 1, first + 3));
  CHECK(ring.passMark(first + 1));
  CHECK(ring.passMark(first + 2));
  CHECK_FALSE(ring.mark(1, first + 3, first + 3));
  CHECK_FALSE(ring.mark(5, 0, 3));
}

TEST_CASE("credits leave room for at least one chunk, whatever the number of slots") {
  for (std::uint32_t slots = 1; slots < 100; ++slots) {
    CAPTURE(slots);
    const std::uint32_t worth = Credits::worth(slots);
    CHECK(worth >= 1);
    CHECK(worth <= slots);
    // All slots given back, none of it received yet.
    CHECK(slots / worth <= Credits::window(slots));
  }
}

}  // namespace gdrbench::staged
