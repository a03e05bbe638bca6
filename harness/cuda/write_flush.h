// SPDX-License-Identifier: Apache-2.0
// What a network card wrote to GPU memory has arrived before a kernel must see it: arrival is not
// visibility. On most machines the writes are ordered for the GPU that owns the memory, and nothing
// is to be done; elsewhere they have to be flushed before the bytes are read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/cuda/device.h"

namespace gdrbench::cuda {

class WriteFlush {
 public:
  /// By the GPU's attributes (CUDA driver API, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
  /// and _FLUSH_WRITES_OPTIONS). What the driver does not tell is taken for not ordered.
  explicit WriteFlush(std::shared_ptr<const Device> device);

  /// Before the bytes are read; takes no time where the writes are ordered. Not in a timed section:
  /// what it takes is told apart. An Error when the driver refuses.
  Status run();

  /// "ordered for the GPU that owns the memory", or how often it was flushed and what that took.
  [[nodiscard]] std::string describe() const;

 private:
  enum class Need { kNone, kFlush, kNoWay };
  std::shared_ptr<const Device> device_;
  Need need_ = Need::kNone;
  std::uint64_t flushes_ = 0;
  double totalUs_ = 0, longestUs_ = 0;
};

}  // namespace gdrbench::cuda
