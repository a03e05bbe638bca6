// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_buffer.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "harness/cuda/device.h"

namespace gdrbench::cuda::fake {
namespace {

void require(bool good, const MemoryName& memory, const char* step) {
  if (good) return;
  fmt::print(stderr, "fake buffer in {}: {}\n", memory.device, step);
  std::abort();
}

Buffer deviceBuffer(const MemoryName& memory, std::uint64_t bytes) {
  auto device = openDevice(memory.device);
  require(device.ok(), memory, "no such GPU");
  DevicePointer pointer = 0;
  require((*device)->cuda().allocate(&pointer, bytes) == kSuccess, memory, "allocate");
  return {reinterpret_cast<std::byte*>(pointer), bytes, memory, 0,
          [owner = *device](std::byte* data, std::uint64_t) {
            owner->cuda().free(cuda::pointer(data));
          }};
}

}  // namespace

Buffer allocateBuffer(const MemoryName& memory, std::uint64_t bytes) {
  if (memory.kind == MemoryKind::kCuda) return deviceBuffer(memory, bytes);
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));
  require(data != nullptr, memory, "aligned_alloc");
  const Api* pinned = memory.kind == MemoryKind::kPinned ? *api() : nullptr;
  if (pinned != nullptr) {
    const Code code = pinned->hostRegister(data, whole, kHostRegisterPortable);
    require(code == kSuccess, memory, "hostRegister");
  }
  return {data, bytes, memory, 0, [pinned](std::byte* all, std::uint64_t) {
            if (pinned != nullptr) pinned->hostUnregister(all);
            std::free(all);
          }};
}

}  // namespace gdrbench::cuda::fake
