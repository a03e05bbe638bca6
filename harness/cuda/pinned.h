// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "harness/cuda/device.h"

namespace gdrbench::cuda {

/// Host memory that the copy engines of every GPU reach: touched, page-locked and registered with
/// the driver. Released in reverse.
class PinnedBuffer {
 public:
  /// `numaNode`: where the pages should lie, best near the GPU; -1 when that is not known. What
  /// came of it is numaNode(): a node that is full gives way to another one.
  static Result<PinnedBuffer> allocate(std::shared_ptr<const Device> device, std::uint64_t bytes,
                                       int numaNode);
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        registered_(other.registered_),
        numaNode_(other.numaNode_) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;
  ~PinnedBuffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }  ///< whole pages
  [[nodiscard]] int numaNode() const noexcept { return numaNode_; }      ///< -1: unknown

 private:
  PinnedBuffer(std::shared_ptr<const Device> device, std::byte* data, std::uint64_t bytes)
      : device_(std::move(device)), data_(data), bytes_(bytes) {}
  void touch(int numaNode);
  Status pin();

  std::shared_ptr<const Device> device_;
  std::byte* data_;
  std::uint64_t bytes_;
  bool registered_ = false;
  int numaNode_ = -1;
};

}  // namespace gdrbench::cuda
