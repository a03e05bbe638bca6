// SPDX-License-Identifier: Apache-2.0
// Copies between a GPU and pinned memory on a stream of their own: enqueued, and finished in that
// order. How far they are says a counter that the stream writes; where a driver has none, events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda/device.h"
#include "harness/cuda/stream_counter.h"

namespace gdrbench::staged {

class CopyStream {
 public:
  /// `patience`: as long as no more bytes than this are on their way, each copy is followed at
  /// once, and settle() waits for them, for a while: for a caller that can do nothing else
  /// meanwhile. Without a counter that saves the event and the questions after it. 0: never.
  static Result<CopyStream> make(const std::shared_ptr<const cuda::Device>& device,
                                 std::uint64_t patience);
  CopyStream(CopyStream&&) = default;
  /// Nothing is on its way any more: the memory may go.
  ~CopyStream();

  /// False when the driver refused; see failure().
  bool copy(cuda::DevicePointer to, cuda::DevicePointer from, std::uint64_t bytes) noexcept;

  /// Looks how far the copies are. False when one failed.
  bool settle() noexcept;

  [[nodiscard]] std::uint64_t enqueued() const noexcept { return enqueued_; }
  [[nodiscard]] std::uint64_t finished() const noexcept { return finished_; }
  /// What the driver answered, and the name of the function that it answered to.
  [[nodiscard]] cuda::Code failure() const noexcept { return failure_; }
  [[nodiscard]] const char* failedCall() const noexcept { return failedCall_; }
  /// By what it is known that copies are done, in words; and why not by a counter.
  [[nodiscard]] std::string follows() const;

 private:
  CopyStream(cuda::Stream stream, cuda::Events events, Result<cuda::StreamCounter> counter,
             const cuda::Api& cuda, std::uint64_t patience);
  bool mark() noexcept;
  bool count() noexcept;
  bool record() noexcept;
  bool wait() noexcept;
  bool look() noexcept;
  bool awaitCounter() noexcept;
  bool readCounter(unsigned quietLooks) noexcept;
  bool askEvents() noexcept;
  bool good(cuda::Code code, const char* call) noexcept;
  [[nodiscard]] bool worthWaiting() const noexcept {
    return patience_ != 0 && onTheWay_ <= patience_;
  }

  const cuda::Api& cuda_;
  cuda::Stream stream_;
  cuda::Events events_;
  std::optional<cuda::StreamCounter> counter_;
  std::string noCounter_;                    ///< why there is none
  unsigned quietLooks_ = 0;                  ///< at the counter, since it moved
  std::vector<std::uint64_t> covers_;        ///< by event: the copies that are finished when it is
  std::uint64_t recorded_ = 0, passed_ = 0;  // events
  std::uint64_t enqueued_ = 0, marked_ = 0, finished_ = 0;  // copies
  std::uint64_t patience_;
  std::uint64_t onTheWay_ = 0;  ///< bytes since the stream was empty
  std::uint64_t unmarked_ = 0;  ///< bytes since the last event or count
  cuda::Code failure_ = cuda::kSuccess;
  const char* failedCall_ = "";
};

}  // namespace gdrbench::staged
