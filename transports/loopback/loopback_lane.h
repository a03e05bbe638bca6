// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "transports/message_queue.h"
#include "transports/shared_pair.h"
#include "transports/transport.h"

namespace gdrbench::loopback {

/// A message goes through the ring as a header and its bytes, in pieces, so that any size passes
/// and the two copies of a large one overlap. It is copied out into the target slot once it is
/// expected; until then it waits in the ring.
class LoopbackLane final : public Lane {
 public:
  LoopbackLane(std::shared_ptr<SharedPair> pair, const LaneSpec& spec, const std::byte* source,
               std::byte* target);
  ~LoopbackLane() override { pair_->close(); }

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override { return error_; }

 private:
  void copyIn() noexcept;
  void copyOut() noexcept;
  bool copyPieceIn() noexcept;
  bool copyPieceOut() noexcept;
  void checkPeer() noexcept;
  void fail(Error error) noexcept;

  std::shared_ptr<SharedPair> pair_;
  SlotLayout layout_;
  const std::byte* source_;
  std::byte* target_;
  std::uint64_t piece_;
  MessageQueue sends_, expects_;
  FifoWriter writer_;
  FifoReader reader_;
  bool headerIn_ = false, headerOut_ = false;  // of the front message
  std::uint64_t bytesIn_ = 0, bytesOut_ = 0;   // of the front message
  bool failed_ = false;
  Error error_;
};

}  // namespace gdrbench::loopback
