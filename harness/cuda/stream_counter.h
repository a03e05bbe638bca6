// SPDX-License-Identifier: Apache-2.0
// A counter in host memory that a stream writes behind its work: how far it has come, for the price
// of a load, where asking for an event is a call into the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "harness/cuda/device.h"
#include "harness/cuda/pinned.h"

namespace gdrbench::cuda {

class StreamCounter {
 public:
  /// Tries one write, and answers an Error where the driver takes none or it does not arrive:
  /// stream memory operations are newer than streams, and a driver may have them switched off.
  static Result<StreamCounter> make(const std::shared_ptr<const Device>& device,
                                    StreamHandle stream);

  /// Enqueues "the counter is `value`": seen by read() once all that the stream was given before is
  /// done and visible.
  Code write(StreamHandle stream, std::uint32_t value) noexcept {
    return device_->cuda().streamWriteValue32(stream, pointer(memory_.data()), value, 0);
  }
  /// The last value that was written; 0 at first.
  [[nodiscard]] std::uint32_t read() const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(memory_.data()))
        .load(std::memory_order_acquire);
  }

 private:
  StreamCounter(std::shared_ptr<const Device> device, PinnedBuffer memory)
      : device_(std::move(device)), memory_(std::move(memory)) {}
  std::shared_ptr<const Device> device_;
  PinnedBuffer memory_;
};

}  // namespace gdrbench::cuda
