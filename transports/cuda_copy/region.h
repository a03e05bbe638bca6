// SPDX-License-Identifier: Apache-2.0
// Buffers of both sides as the driver knows them.
#pragma once

#include <memory>
#include <string>

#include "harness/cuda/device.h"
#include "transports/cuda_copy/address.h"

namespace gdrbench::cuda_copy {

/// A buffer of this side. Nothing is registered here: the driver knows its own memory, pinned host
/// memory was registered by who allocated it, and pageable memory it copies through its own.
class Region final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> of(const cuda::Device& device, const Buffer& buffer);

  [[nodiscard]] cuda::DevicePointer pointer() const noexcept { return pointer_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }
  /// Host memory that the driver knows, and so copies from and to without a stop on the way.
  [[nodiscard]] bool pinned() const noexcept { return pinned_; }

 private:
  Region(cuda::DevicePointer pointer, std::uint64_t bytes, MemoryKind kind, bool pinned)
      : pointer_(pointer), bytes_(bytes), kind_(kind), pinned_(pinned) {}
  cuda::DevicePointer pointer_;
  std::uint64_t bytes_;
  MemoryKind kind_;
  bool pinned_;
};

/// Puts the handle into the address, with which another process can map the buffer.
Status exportTo(Address& address, const cuda::Device& device);

/// The peer's target buffer, mapped into this process for as long as this object lives.
class Import {
 public:
  /// `device`: for whose use it is mapped.
  static Result<std::unique_ptr<Import>> open(std::shared_ptr<const cuda::Device> device,
                                              const Address& address);
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  [[nodiscard]] cuda::DevicePointer target() const noexcept { return base_ + offset_; }

 private:
  Import(std::shared_ptr<const cuda::Device> device, cuda::DevicePointer base, std::uint64_t offset)
      : device_(std::move(device)), base_(base), offset_(offset) {}
  std::shared_ptr<const cuda::Device> device_;
  cuda::DevicePointer base_;
  std::uint64_t offset_;
};

}  // namespace gdrbench::cuda_copy
