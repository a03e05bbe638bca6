// SPDX-License-Identifier: Apache-2.0
// Registering a buffer with a device: host memory by its address, GPU memory by dma-buf or through
// peer memory. What was asked for, or an error that says which of the known causes applies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "harness/core/result.h"
#include "transports/transport.h"
#include "transports/verbs/calls.h"
#include "transports/verbs/path_evidence.h"

namespace gdrbench::verbs {

struct Platform;

Registration registrationNamed(std::string_view word);
std::string_view name(Registration registration);

/// How a GPU shows its memory to PCIe devices.
enum class Mapping { kDefault, kPcie };

/// A dma-buf of device memory. `fd` belongs to who receives it.
struct DmaBufRange {
  int fd = -1;
  std::uint64_t offset = 0;  ///< where the range that was asked for begins in the dma-buf
  std::uint64_t length = 0;  ///< of the dma-buf
};

/// Exports device memory. `begin` and `bytes` are multiples of the host's page size.
using DmaBufExporter =
    std::function<Result<DmaBufRange>(std::byte* begin, std::uint64_t bytes, Mapping mapping)>;

/// Whole pages around a buffer, and where it begins in them.
struct PageRange {
  std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};
PageRange pagesAround(std::byte* data, std::uint64_t bytes, std::uint64_t page);

struct RegistrationRequest {
  Registration registration = Registration::kHost;  ///< of GPU memory
  Mapping mapping = Mapping::kDefault;
  bool relaxedOrdering = false;
  std::string device;  ///< for errors
};

/// A registered buffer, with the keys by which work requests name it.
class Region final : public MemoryRegion {
 public:
  Region(MrHandle mr, std::byte* data, RegionFacts facts);
  [[nodiscard]] std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(data_);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return facts_.bytes; }
  [[nodiscard]] std::uint32_t localKey() const noexcept { return localKey_; }
  [[nodiscard]] std::uint32_t remoteKey() const noexcept { return remoteKey_; }
  [[nodiscard]] Registration registration() const noexcept { return facts_.registration; }
  [[nodiscard]] const RegionFacts& facts() const noexcept { return facts_; }

 private:
  MrHandle mr_;
  std::byte* data_;
  RegionFacts facts_;
  std::uint32_t localKey_, remoteKey_;
};

Result<std::unique_ptr<Region>> registerBuffer(const Platform& platform, ibv_pd* pd,
                                               const Buffer& buffer,
                                               const RegistrationRequest& request);

/// "64 KiB" or "unlimited": what this process may lock.
std::string lockedMemoryLimit();

/// A call that needs memory of the kernel or locked pages answered `code`: names the limit where
/// that can be the cause.
Error resourceError(std::string tried, int code);

}  // namespace gdrbench::verbs
