// SPDX-License-Identifier: Apache-2.0
// Fill, poison and verify on a GPU: the kernels of data_kernels.cu, loaded for one device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "harness/cuda/device.h"

namespace gdrbench::cuda {

/// Messages in consecutive slots; addresses and strides are multiples of 16.
struct SlotsOnDevice {
  DevicePointer slots = 0;  ///< of the first one
  std::uint64_t stride = 0, bytes = 0;
  std::uint32_t count = 0;
  std::uint64_t firstMessage = 0;
  std::uint64_t mixedSeed = 0;  ///< DataPattern::mixedSeed()
};

class DataKernels {
 public:
  /// Loads the PTX: the driver compiles it for this GPU, or finds it in its cache.
  static Result<DataKernels> load(std::shared_ptr<const Device> device);
  DataKernels(DataKernels&&) noexcept;
  DataKernels& operator=(DataKernels&&) = delete;
  ~DataKernels();

  /// Waits until it is done. `inverted`: poison.
  Status fill(const SlotsOnDevice& slots, bool inverted);
  /// Index of the first slot with a wrong byte, if any.
  Result<std::optional<std::uint32_t>> verify(const SlotsOnDevice& slots);

 private:
  DataKernels(std::shared_ptr<const Device> device, Stream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}
  Status launch(Function kernel, const SlotsOnDevice& slots, void** arguments);

  std::shared_ptr<const Device> device_;
  Stream stream_;
  Module module_ = nullptr;
  Function fill_ = nullptr, verify_ = nullptr;
  DevicePointer firstBad_ = 0;
};

}  // namespace gdrbench::cuda
