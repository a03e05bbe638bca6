// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/cuda/device.h"
#include "transports/cuda_copy/route.h"
#include "transports/message_queue.h"
#include "transports/shared_pair.h"
#include "transports/transport.h"

namespace gdrbench::cuda_copy {

/// The copies of one submit stand behind each other in a stream, with an event behind the last;
/// once that is done the tickets go to the peer through shared memory, in order.
class CudaCopyLane final : public Lane {
 public:
  static Result<std::unique_ptr<Lane>> make(Route route, const LaneSpec& spec,
                                            std::shared_ptr<SharedPair> pair);
  ~CudaCopyLane() override;

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override { return error_; }

 private:
  /// Messages that are told of together.
  struct Batch {
    std::uint32_t messages = 0;
    bool copies = false;  ///< has an event: not only sync messages
    bool done = false;    ///< seen to be so
  };
  CudaCopyLane(Route route, const LaneSpec& spec, std::shared_ptr<SharedPair> pair,
               cuda::Stream stream, cuda::Events events);
  void enterThread() noexcept;
  void startCopies(std::span<const Send> sends) noexcept;
  void startCopy(const Send& send) noexcept;
  void closeBatch(const Batch& batch) noexcept;
  void announceSent() noexcept;
  bool isDone(Batch& batch) noexcept;
  bool announce(Batch& batch) noexcept;
  void takeArrivals() noexcept;
  void checkPeer() noexcept;
  void failCopy(const char* step, cuda::Code code) noexcept;
  void fail(Error error) noexcept;

  std::shared_ptr<SharedPair> pair_;
  Route route_;
  SlotLayout layout_;
  MessageQueue sends_, expects_;
  FifoWriter writer_;
  FifoReader reader_;
  cuda::Stream stream_;
  cuda::Events events_;         // one for each batch, by position
  std::vector<Batch> batches_;  // a ring: firstBatch_ up to nextBatch_ are under way
  std::size_t firstBatch_ = 0, nextBatch_ = 0;
  const void* thread_ = nullptr;  // the one that entered last
  bool failed_ = false;
  Error error_;
};

/// Bytes of the ring in which the tickets of one direction travel.
std::uint64_t ringBytes(const LaneSpec& spec);

}  // namespace gdrbench::cuda_copy
