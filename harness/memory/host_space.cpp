// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/host_space.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/units.h"
#include "harness/memory/control_group.h"
#include "harness/memory/host_slots.h"

namespace gdrbench {
namespace {

/// Left to the rest of the machine.
constexpr std::uint64_t kReserve = 64u << 20;
/// Beyond any address space, and far from where rounding up to pages would wrap around.
constexpr std::uint64_t kMostBytes = kUnlimited / 4;

std::uint64_t pageSize() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
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

std::uint64_t leftByControlGroups() {
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  return leftInControlGroups("/sys/fs/cgroup", groups);
}

/// NUMA node of a touched page; -1 when the kernel does not say.
int nodeOf(void* address) {
  constexpr unsigned long kNodeOfAddress = 3;  // MPOL_F_NODE | MPOL_F_ADDR
  int node = -1;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0ul, address, kNodeOfAddress) != 0) return -1;
  return node;
}

/// "1.5 GiB": rounded, for sizes that nobody chose.
std::string about(std::uint64_t bytes) {
  constexpr double kMiB = 1024.0 * 1024;
  const double mib = static_cast<double>(bytes) / kMiB;
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

constexpr std::string_view kAskForLess = "use smaller sizes or a smaller window";

/// The kernel may put large pages under plain memory; a report that says 4 KiB must say so.
bool hugePagesAlways() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string words;
  std::getline(file, words);
  return words.find("[always]") != std::string::npos;
}

class HostSpace final : public MemorySpace {
 public:
  Result<Buffer> allocate(std::uint64_t bytes) override {
    const std::uint64_t page = pageSize();
    const std::uint64_t length =
        bytes > kMostBytes ? bytes : std::max(page, (bytes + page - 1) / page * page);
    // The kernel promises more than it has: past this point a shortage ends the process.
    if (auto error = hostShortage(length, "")) return *std::move(error);
    void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED) {
      const int why = errno;
      return systemError(fmt::format("allocate {} of host memory", about(length)), why,
                         fmt::format("{} are available, but a limit of this process may be lower "
                                     "(ulimit -v); {}",
                                     about(availableHostBytes()), kAskForLess));
    }
    node_ = nodeOf(address);
    return Buffer(static_cast<std::byte*>(address), length, MemoryName{}, *node_,
                  [](std::byte* data, std::uint64_t size) { munmap(data, size); });
  }

  Status fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return fillOnHost(buffer, run, pattern);
  }
  Status poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return poisonOnHost(buffer, run, pattern);
  }
  Result<std::optional<DataFault>> verify(const Buffer& buffer, const SlotRun& run,
                                          const DataPattern& pattern) override {
    return verifyOnHost(buffer, run, pattern);
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = fmt::format("host, {} pages", formatSize(pageSize()));
    if (hugePagesAlways()) text += " or larger (transparent huge pages: always)";
    if (!node_) return text;
    return text + (*node_ < 0 ? ", NUMA node unknown" : fmt::format(", NUMA node {}", *node_));
  }

 private:
  std::optional<int> node_;  ///< of the last buffer; known once memory is touched
};

}  // namespace

std::optional<Error> hostShortage(std::uint64_t bytes, std::string_view purpose) {
  const std::uint64_t available = availableHostBytes();
  const std::uint64_t free = available - std::min(available, kReserve);
  if (bytes <= free) return {};
  return Error{.code = ErrorCode::kNoMemory,
               .tried = fmt::format("get {} of host memory{}", about(bytes), purpose),
               .nativeText = fmt::format("{} are available beside a reserve of {}", about(free),
                                         formatSize(kReserve)),
               .next = std::string(kAskForLess)};
}

std::uint64_t availableHostBytes() {
  return std::min(availableByKernel(), leftByControlGroups());
}

Result<std::unique_ptr<MemorySpace>> openHostSpace(std::uint64_t footprint) {
  if (auto error = hostShortage(footprint, " for both sides")) return *std::move(error);
  return std::unique_ptr<MemorySpace>(new HostSpace);
}

}  // namespace gdrbench
