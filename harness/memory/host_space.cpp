// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/host_space.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <string>

#include "harness/core/units.h"

namespace gdrbench {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
/// Left to the rest of the machine.
constexpr std::uint64_t kReserve = 64u << 20;

std::uint64_t pageSize() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// First number of a file; kUnlimited when there is none ("max", or no such file).
std::uint64_t numberIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnlimited;
}

std::uint64_t availableByKernel() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return kUnlimited;
}

std::uint64_t leftOf(std::uint64_t limit, std::uint64_t used) {
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  return limit > used ? limit - used : 0;
}

/// Containers see their own group at the root of the mount; version 2, then version 1.
std::uint64_t leftInControlGroup() {
  const std::string v2 = "/sys/fs/cgroup/memory.";
  const std::string v1 = "/sys/fs/cgroup/memory/memory.";
  return std::min(leftOf(numberIn(v2 + "max"), numberIn(v2 + "current")),
                  leftOf(numberIn(v1 + "limit_in_bytes"), numberIn(v1 + "usage_in_bytes")));
}

/// NUMA node of a touched page; -1 when the kernel does not say.
int nodeOf(void* address) {
  constexpr unsigned long kNodeOfAddress = 3;  // MPOL_F_NODE | MPOL_F_ADDR
  int node = -1;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0ul, address, kNodeOfAddress) != 0) return -1;
  return node;
}

Error tooMuch(std::uint64_t asked, std::uint64_t available) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return {
      .code = ErrorCode::kNoMemory,
      .tried = fmt::format("get {} of host memory for both sides", formatSize(asked)),
      .nativeText = fmt::format("{:.1f} GiB are available", static_cast<double>(available) / kGiB),
      .next = "use smaller sizes or a smaller window"};
}

class HostSpace final : public MemorySpace {
 public:
  Result<Buffer> allocate(std::uint64_t bytes) override {
    const std::uint64_t page = pageSize();
    const std::uint64_t length = (bytes + page - 1) / page * page;
    void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED) {
      return systemError(fmt::format("allocate {} of host memory", formatSize(length)), errno,
                         "use smaller sizes or a smaller window");
    }
    lastNode_ = nodeOf(address);
    return Buffer(static_cast<std::byte*>(address), length, MemoryName{}, lastNode_,
                  [](std::byte* data, std::uint64_t size) { munmap(data, size); });
  }

  void fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      pattern.fill(slot(buffer, run, i), run.firstMessage + i);
    }
  }

  void poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      pattern.poison(slot(buffer, run, i), run.firstMessage + i);
    }
  }

  std::optional<DataFault> verify(const Buffer& buffer, const SlotRun& run,
                                  const DataPattern& pattern) override {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (auto fault = pattern.verify(slot(buffer, run, i), run.firstMessage + i)) return fault;
    }
    return {};
  }

  [[nodiscard]] std::string describe() const override {
    return fmt::format("host, {} pages, NUMA node {}", formatSize(pageSize()),
                       lastNode_ < 0 ? "unknown" : std::to_string(lastNode_));
  }

 private:
  static std::span<std::byte> slot(const Buffer& buffer, const SlotRun& run, std::uint32_t i) {
    return {buffer.data() + run.layout.offsetOf(run.firstSlot + i), run.bytes};
  }

  int lastNode_ = -1;
};

}  // namespace

std::uint64_t availableHostBytes() {
  return std::min(availableByKernel(), leftInControlGroup());
}

Result<std::unique_ptr<MemorySpace>> openHostSpace(std::uint64_t footprint) {
  const std::uint64_t available = availableHostBytes();
  if (footprint > available || available - footprint < kReserve) {
    return tooMuch(footprint, available);
  }
  return std::unique_ptr<MemorySpace>(new HostSpace);
}

}  // namespace gdrbench
