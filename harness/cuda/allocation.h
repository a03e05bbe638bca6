// SPDX-License-Identifier: Apache-2.0
// Memory on one GPU, and what the driver says about it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "harness/cuda/device.h"

namespace gdrbench::cuda {

class Allocation {
 public:
  /// At least `bytes`, in multiples of 2 MiB. `vmm`: by cuMemCreate, exportable as a file
  /// descriptor and marked for GPUDirect RDMA where the GPU has it; otherwise by cuMemAlloc.
  static Result<Allocation> make(std::shared_ptr<const Device> device, std::uint64_t bytes,
                                 bool vmm);
  Allocation(Allocation&& other) noexcept
      : device_(std::move(other.device_)),
        pointer_(std::exchange(other.pointer_, 0)),
        bytes_(other.bytes_),
        vmm_(other.vmm_),
        facts_(std::move(other.facts_)) {}
  Allocation& operator=(Allocation&&) = delete;
  ~Allocation();

  [[nodiscard]] DevicePointer pointer() const noexcept { return pointer_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// "cuMemAlloc, 4 MiB, sync memops", as the driver reports it.
  [[nodiscard]] const std::string& describe() const noexcept { return facts_; }

 private:
  Allocation(std::shared_ptr<const Device> device, std::uint64_t bytes, bool vmm)
      : device_(std::move(device)), bytes_(bytes), vmm_(vmm) {}
  Status allocate();
  Status createAndMap();
  Status readBack();

  std::shared_ptr<const Device> device_;
  DevicePointer pointer_ = 0;
  std::uint64_t bytes_;
  bool vmm_;
  std::string facts_;
};

/// Both wait until the bytes are there. Cold.
Status copyToHost(std::shared_ptr<const Device> device, std::span<std::byte> destination,
                  DevicePointer source);
Status copyFromHost(std::shared_ptr<const Device> device, DevicePointer destination,
                    std::span<const std::byte> source);

/// A dma-buf over part of an allocation: what a network library registers.
class DmaBuf {
 public:
  /// `pcieMapping`: through the PCIe aperture even where the GPU has a faster link to the CPU. The
  /// range must begin and end at pages. kUnsupported where driver or GPU cannot.
  static Result<DmaBuf> exportFrom(const Device& device, DevicePointer pointer, std::uint64_t bytes,
                                   bool pcieMapping);
  DmaBuf(DmaBuf&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DmaBuf& operator=(DmaBuf&&) = delete;
  ~DmaBuf();

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Gives it to the caller.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Size and exporter as the kernel's fdinfo has them; "unknown (why)" where it does not say.
  [[nodiscard]] std::string describe() const;

 private:
  explicit DmaBuf(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace gdrbench::cuda
