// SPDX-License-Identifier: Apache-2.0
// GPU memory on real GPUs: what the fake cannot show.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "harness/cuda/allocation.h"
#include "harness/cuda/data_kernels.h"
#include "harness/memory/memory_space.h"

using namespace gdrbench;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

bool noGpu() {
  const auto gpus = cuda::identities();
  if (gpus) return false;
  MESSAGE("[SKIPPED] " << gpus.error().what());
  return true;
}

std::unique_ptr<MemorySpace> space(const char* name, bool vmm = false) {
  auto opened = openMemorySpace(*parseMemoryName(name),
                                {.ownBytes = 64 * kMiB, .bothBytes = 128 * kMiB, .vmm = vmm});
  REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().what()));
  return *std::move(opened);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// As the CPU sees the bytes of a GPU.
std::vector<std::byte> onHost(const Buffer& buffer) {
  auto device = cuda::openDevice("0");
  REQUIRE(device.ok());
  std::vector<std::byte> bytes(buffer.bytes());
  REQUIRE(cuda::copyToHost(*device, bytes, cuda::pointer(buffer.data())).ok());
  return bytes;
}

void flip(const Buffer& buffer, std::uint64_t at) {
  auto device = cuda::openDevice("0");
  REQUIRE(device.ok());
  std::vector<std::byte> byte(1);
  REQUIRE(cuda::copyToHost(*device, byte, cuda::pointer(buffer.data() + at)).ok());
  byte[0] ^= std::byte{0x10};
  REQUIRE(cuda::copyFromHost(*device, cuda::pointer(buffer.data() + at), byte).ok());
}

const DataPattern kPattern(77);

}  // namespace

TEST_CASE("the GPU writes what the CPU would write, and nothing beside it") {
  if (noGpu()) return;
  for (const bool vmm : {false, true}) {
    const auto gpu = space("cuda:0", vmm);
    for (const std::uint64_t bytes : {1u, 7u, 8u, 15u, 16u, 17u, 63u, 64u, 100u, 4096u, 1000003u}) {
      CAPTURE(vmm);
      CAPTURE(bytes);
      const std::uint64_t stride = (bytes + 63) / 64 * 64;
      const SlotLayout layout{.stride = stride, .count = 5};
      auto buffer = gpu->allocate(layout.totalBytes());
      REQUIRE(buffer.ok());
      const SlotRun run{
          .layout = layout, .firstSlot = 1, .count = 3, .bytes = bytes, .firstMessage = 1000};
      REQUIRE(gpu->poison(*buffer, {.layout = layout, .firstSlot = 0, .count = 5, .bytes = stride},
                          kPattern)
                  .ok());
      const auto before = onHost(*buffer);
      REQUIRE(gpu->fill(*buffer, run, kPattern).ok());
      const auto after = onHost(*buffer);
      for (std::uint32_t i = 0; i < run.count; ++i) {
        const std::span<const std::byte> slot{after.data() + layout.offsetOf(1 + i), bytes};
        CHECK_FALSE(kPattern.verify(slot, 1000 + i));
      }
      for (std::uint64_t at = 0; at < 5 * stride; ++at) {
        const bool written = at >= stride && at < 4 * stride && at % stride < bytes;
        if (!written && before[at] != after[at]) FAIL("written at ", at);
      }
      const auto good = gpu->verify(*buffer, run, kPattern);
      REQUIRE(good.ok());
      CHECK_FALSE(good->has_value());
    }
  }
}

TEST_CASE("the first bad byte of a message in GPU memory is named") {
  if (noGpu()) return;
  const auto gpu = space("cuda:0");
  for (const std::uint64_t bytes : {1u, 33u, 4096u, 1048577u}) {
    CAPTURE(bytes);
    const SlotLayout layout{.stride = (bytes + 63) / 64 * 64, .count = 4};
    auto buffer = gpu->allocate(layout.totalBytes());
    REQUIRE(buffer.ok());
    const SlotRun run{.layout = layout, .count = 4, .bytes = bytes, .firstMessage = 40};
    REQUIRE(gpu->fill(*buffer, run, kPattern).ok());
    flip(*buffer, layout.offsetOf(2) + bytes - 1);
    flip(*buffer, layout.offsetOf(3));
    const auto fault = gpu->verify(*buffer, run, kPattern);
    REQUIRE(fault.ok());
    REQUIRE(fault->has_value());
    CHECK((*fault)->message == 42);
    CHECK((*fault)->offset == bytes - 1);
    CHECK((*fault)->badBytes == 1);
  }
}

TEST_CASE("poison leaves no byte right") {
  if (noGpu()) return;
  const auto gpu = space("cuda:0");
  const SlotLayout layout{.stride = 1024, .count = 64};
  auto buffer = gpu->allocate(layout.totalBytes());
  REQUIRE(buffer.ok());
  const SlotRun run{.layout = layout, .count = 64, .bytes = 1000, .firstMessage = 5};
  REQUIRE(gpu->poison(*buffer, run, kPattern).ok());
  const auto fault = gpu->verify(*buffer, run, kPattern);
  REQUIRE(fault.ok());
  REQUIRE(fault->has_value());
  CHECK((*fault)->message == 5);
  CHECK((*fault)->badBytes == 1000);
}

TEST_CASE("GPUs are found by index, UUID and PCI address alike") {
  if (noGpu()) return;
  const auto gpus = cuda::identities();
  for (const cuda::Identity& gpu : *gpus) {
    for (const std::string& name : {std::to_string(gpu.ordinal), gpu.uuid, gpu.uuid.substr(0, 12),
                                    gpu.pci, gpu.pci.substr(5), "0000" + gpu.pci}) {
      CAPTURE(name);
      const auto device = cuda::openDevice(name);
      REQUIRE(device.ok());
      CHECK((*device)->identity().pci == gpu.pci);
    }
  }
  const auto missing = cuda::openDevice("77");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(contains(missing.error().what(), "find GPU '77'"));
  CHECK(contains(missing.error().what(), gpus->front().pci));
  CHECK(cuda::openDevice("MIG-1234").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("more than the GPU has is refused with the figures") {
  if (noGpu()) return;
  const auto opened =
      openMemorySpace(*parseMemoryName("cuda:0"),
                      {.ownBytes = std::uint64_t{1} << 42, .bothBytes = std::uint64_t{1} << 43});
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::kNoMemory);
  CHECK(contains(opened.error().what(), "bytes are free there"));
}

TEST_CASE("a dma-buf is exported for each kind of allocation, or the reason is given") {
  if (noGpu()) return;
  auto device = cuda::openDevice("0");
  REQUIRE(device.ok());
  for (const bool vmm : {false, true}) {
    for (const bool pcie : {false, true}) {
      CAPTURE(vmm);
      CAPTURE(pcie);
      auto memory = cuda::Allocation::make(*device, 4 * kMiB, vmm);
      REQUIRE(memory.ok());
      auto exported = cuda::DmaBuf::exportFrom(**device, memory->pointer(), memory->bytes(), pcie);
      if (!exported) {
        MESSAGE("not exported: " << exported.error().what());
        // An aperture that some GPUs do not have; otherwise only what is no fault of this program.
        CHECK((pcie || exported.error().code == ErrorCode::kUnsupported));
        continue;
      }
      CHECK(exported->fd() >= 0);
      MESSAGE((vmm ? "cuMemCreate" : "cuMemAlloc")
              << (pcie ? ", PCIe mapping: " : ": ") << exported->describe());
    }
  }
}

TEST_CASE("pinned memory lies near the GPU and can be filled and checked") {
  if (noGpu()) return;
  const auto pinned = space("pinned:0");
  const SlotLayout layout{.stride = 4096, .count = 8};
  auto buffer = pinned->allocate(layout.totalBytes());
  REQUIRE(buffer.ok());
  const SlotRun run{.layout = layout, .count = 8, .bytes = 4000, .firstMessage = 1};
  REQUIRE(pinned->fill(*buffer, run, kPattern).ok());
  const auto fault = pinned->verify(*buffer, run, kPattern);
  REQUIRE(fault.ok());
  CHECK_FALSE(fault->has_value());
  CHECK(contains(pinned->describe(), "near GPU 0"));
}
