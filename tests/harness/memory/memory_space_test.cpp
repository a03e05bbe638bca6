// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/memory_space.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "harness/cuda/api.h"
#include "harness/memory/host_space.h"

using namespace gdrbench;

namespace {

constexpr std::uint64_t kMi = 1u << 20;

std::unique_ptr<MemorySpace> hostSpace(std::uint64_t footprint = kMi) {
  auto space = openMemorySpace(MemoryName{}, {.bothBytes = footprint});
  REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().what()));
  return *std::move(space);
}

Buffer allocated(MemorySpace& space, std::uint64_t bytes) {
  auto buffer = space.allocate(bytes);
  REQUIRE_MESSAGE(buffer.ok(), (buffer.ok() ? "" : buffer.error().what()));
  return *std::move(buffer);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const DataPattern kContent(1234);

void fill(MemorySpace& space, Buffer& buffer, const SlotRun& run) {
  REQUIRE(space.fill(buffer, run, kContent).ok());
}
void poison(MemorySpace& space, Buffer& buffer, const SlotRun& run) {
  REQUIRE(space.poison(buffer, run, kContent).ok());
}
std::optional<DataFault> faultIn(MemorySpace& space, const Buffer& buffer, const SlotRun& run) {
  auto fault = space.verify(buffer, run, kContent);
  REQUIRE(fault.ok());
  return *fault;
}

}  // namespace

TEST_CASE("names of memory are read and written alike") {
  for (const char* text : {"host", "pinned", "pinned:1", "cuda:0", "cuda:12",
                           "cuda:GPU-8f6a3b1c-0d2e-4f56-a789-0123456789ab", "cuda:GPU-8f6a",
                           "cuda:MIG-8f6a3b1c-0d2e-4f56-a789-0123456789ab", "cuda:0000:3b:00.0",
                           "cuda:00000000:3B:00.0", "cuda:3b:00.0"}) {
    CAPTURE(text);
    const auto name = parseMemoryName(text);
    REQUIRE(name.ok());
    CHECK(name->text() == text);
  }
  CHECK(parseMemoryName("host")->kind == MemoryKind::kHost);
  CHECK(parseMemoryName("pinned")->kind == MemoryKind::kPinned);
  CHECK(*parseMemoryName("cuda:3") == MemoryName{MemoryKind::kCuda, "3"});
}

TEST_CASE("what names no memory is refused with what does") {
  for (const char* bad : {"",
                          "Host",
                          "hsot",
                          "gpu:0",
                          "cuda",
                          "cuda:",
                          "cuda:-1",
                          "cuda:-0",
                          "cuda:08",
                          "cuda:0 ",
                          " cuda:0",
                          "cuda: 0",
                          "cuda:x",
                          "cuda:1.5",
                          "cuda:0,1",
                          "cuda:GPU-",
                          "cuda:GPU-xyz",
                          "cuda:0000:3b:00",
                          "cuda:3b:00.0.0",
                          "cuda:00:3b:00.0",
                          "CUDA:0",
                          "cuda:99999",
                          "cuda:../0"}) {
    CAPTURE(bad);
    const auto name = parseMemoryName(bad);
    REQUIRE_FALSE(name.ok());
    CHECK(name.error().code == ErrorCode::kUsage);
    CHECK(name.error().what().starts_with("'" + std::string(bad) + "' names no memory"));
    CHECK(contains(name.error().what(), "host, pinned, cuda: and an index, UUID or PCI"));
  }
  CHECK(contains(parseMemoryName("hsot").error().what(), "did you mean 'host'?"));
  CHECK(contains(parseMemoryName("cuda").error().what(), "did you mean 'cuda:0'?"));
}

TEST_CASE("without a CUDA driver, memory that needs one is unsupported and says why") {
  if (cuda::api()) {
    MESSAGE("[SKIPPED] this machine has a CUDA driver");
    return;
  }
  for (const MemoryName& name :
       {MemoryName{MemoryKind::kPinned, {}}, MemoryName{MemoryKind::kCuda, "0"}}) {
    const auto space = openMemorySpace(name, {.ownBytes = kMi, .bothBytes = 2 * kMi});
    REQUIRE_FALSE(space.ok());
    CHECK(space.error().code == ErrorCode::kUnsupported);
    CHECK(contains(space.error().what(), "no CUDA driver"));
  }
}

TEST_CASE("host memory is page aligned, at least what was asked for, and already touched") {
  const auto space = hostSpace(64 * kMi);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64}, page - 1,
                                    page, page + 1, 3 * kMi + 5}) {
    CAPTURE(bytes);
    const Buffer buffer = allocated(*space, bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % page == 0);
    CHECK(buffer.bytes() >= std::max<std::uint64_t>(bytes, 1));
    CHECK(buffer.bytes() % page == 0);
    CHECK(buffer.memory().text() == "host");
    CHECK(buffer.numaNode() >= -1);

    std::vector<unsigned char> resident(buffer.bytes() / page);
    REQUIRE(mincore(buffer.data(), buffer.bytes(), resident.data()) == 0);
    CHECK(std::all_of(resident.begin(), resident.end(), [](unsigned char r) { return r & 1; }));
    std::memset(buffer.data(), 0x5a, buffer.bytes());
  }
}

TEST_CASE("a buffer gives its memory back once") {
  int released = 0;
  std::byte memory[64];
  {
    Buffer first(memory, 64, MemoryName{}, 0, [&](std::byte* data, std::uint64_t bytes) {
      CHECK(data == memory);
      CHECK(bytes == 64);
      ++released;
    });
    const Buffer second(std::move(first));
    CHECK(first.data() == nullptr);
    CHECK(second.data() == memory);
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

TEST_CASE("more than there is is refused before anything is touched") {
  const std::uint64_t available = availableHostBytes();
  REQUIRE(available > 0);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t asked : {available, available + 1, std::uint64_t{1} << 50, most}) {
    CAPTURE(asked);
    const auto space = openMemorySpace(MemoryName{}, {.bothBytes = asked});
    REQUIRE_FALSE(space.ok());
    CHECK(space.error().code == ErrorCode::kNoMemory);
  }
  const std::string text =
      openMemorySpace(MemoryName{}, {.bothBytes = std::uint64_t{1} << 50}).error().what();
  CHECK(text.starts_with("could not get 1048576.0 GiB of host memory for both sides: "));
  CHECK(contains(text, "are available beside a reserve of 64 MiB"));
  CHECK(contains(text, "use smaller sizes or a smaller window"));
}

TEST_CASE("an allocation that was not announced is refused as well") {
  const auto space = hostSpace();
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 46, std::uint64_t{1} << 62, most - 4096, most - 1, most}) {
    CAPTURE(bytes);
    const auto buffer = space->allocate(bytes);
    REQUIRE_FALSE(buffer.ok());
    CHECK(buffer.error().code == ErrorCode::kNoMemory);
    CHECK(contains(buffer.error().what(), "GiB of host memory"));
    CHECK(contains(buffer.error().what(), "use smaller sizes or a smaller window"));
  }
}

TEST_CASE("host memory says what it is, its node once there is memory to ask about") {
  const auto space = hostSpace();
  CHECK(space->describe().starts_with("host, "));
  CHECK(contains(space->describe(), " pages"));
  CHECK_FALSE(contains(space->describe(), "NUMA"));
  const Buffer buffer = allocated(*space, 4096);
  CHECK(contains(space->describe(), buffer.numaNode() < 0
                                        ? std::string("NUMA node unknown")
                                        : "NUMA node " + std::to_string(buffer.numaNode())));
}

TEST_CASE("a run of messages is filled and checked, each in its slot") {
  const auto space = hostSpace();
  for (const std::uint64_t bytes : {1u, 63u, 64u, 100u, 128u}) {
    CAPTURE(bytes);
    const SlotLayout layout{.stride = 128, .count = 8};
    Buffer buffer = allocated(*space, layout.totalBytes());
    std::memset(buffer.data(), 0, buffer.bytes());
    const SlotRun run{
        .layout = layout, .firstSlot = 2, .count = 4, .bytes = bytes, .firstMessage = 70};
    fill(*space, buffer, run);
    CHECK_FALSE(faultIn(*space, buffer, run));
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::span<const std::byte> slot{buffer.data() + layout.offsetOf(2 + i), bytes};
      CHECK_FALSE(kContent.verify(slot, 70 + i));
    }
    // The slots before and behind the run, the rest of its slots, and the sync slot, stay.
    for (std::uint64_t at = 0; at < layout.totalBytes(); ++at) {
      const bool written = at >= 2 * 128 && at < 6 * 128 && at % 128 < bytes;
      if (!written && buffer.data()[at] != std::byte{0}) FAIL("written at ", at);
    }
  }
}

TEST_CASE("the first fault of a run is named by message and offset") {
  const auto space = hostSpace();
  const SlotLayout layout{.stride = 64, .count = 8};
  Buffer buffer = allocated(*space, layout.totalBytes());
  const SlotRun run{.layout = layout, .firstSlot = 0, .count = 8, .bytes = 50, .firstMessage = 100};
  fill(*space, buffer, run);
  buffer.data()[layout.offsetOf(3) + 49] ^= std::byte{1};
  buffer.data()[layout.offsetOf(5)] ^= std::byte{1};
  const auto fault = faultIn(*space, buffer, run);
  REQUIRE(fault);
  CHECK(fault->message == 103);
  CHECK(fault->offset == 49);
  CHECK(fault->badBytes == 1);
}

TEST_CASE(
    "poison makes every message of a run look missing, and two slots that changed places are "
    "found") {
  const auto space = hostSpace();
  const SlotLayout layout{.stride = 64, .count = 4};
  Buffer buffer = allocated(*space, layout.totalBytes());
  const SlotRun run{.layout = layout, .count = 4, .bytes = 64, .firstMessage = 9};
  poison(*space, buffer, run);
  const auto missing = faultIn(*space, buffer, run);
  REQUIRE(missing);
  CHECK(missing->message == 9);
  CHECK(missing->badBytes == 64);

  fill(*space, buffer, run);
  std::swap_ranges(buffer.data() + 64, buffer.data() + 128, buffer.data() + 128);
  const auto swapped = faultIn(*space, buffer, run);
  REQUIRE(swapped);
  CHECK(swapped->message == 10);
}

TEST_CASE("slots beyond 4 GiB have their place") {
  const SlotLayout layout{.stride = std::uint64_t{1} << 30, .count = 6};
  CHECK(layout.offsetOf(5) == std::uint64_t{5} << 30);
  CHECK(layout.offsetOf(layout.syncSlot()) == std::uint64_t{6} << 30);
  CHECK(layout.totalBytes() == (std::uint64_t{6} << 30) + SlotLayout::kSyncBytes);

  // Reserved, not touched but in one slot: costs a page.
  void* reserved = mmap(nullptr, layout.totalBytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(reserved != MAP_FAILED);
  Buffer buffer(static_cast<std::byte*>(reserved), layout.totalBytes(), MemoryName{}, -1,
                [](std::byte* data, std::uint64_t bytes) { munmap(data, bytes); });
  const auto space = hostSpace();
  const SlotRun run{.layout = layout, .firstSlot = 5, .count = 1, .bytes = 100, .firstMessage = 1};
  fill(*space, buffer, run);
  CHECK_FALSE(kContent.verify({buffer.data() + (std::uint64_t{5} << 30), 100}, 1));
  CHECK_FALSE(faultIn(*space, buffer, run));
  buffer.data()[(std::uint64_t{5} << 30) + 99] ^= std::byte{0x80};
  REQUIRE(faultIn(*space, buffer, run));
  CHECK(faultIn(*space, buffer, run)->offset == 99);
}
