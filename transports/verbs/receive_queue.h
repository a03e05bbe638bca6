// SPDX-License-Identifier: Apache-2.0
// The receive queue of one queue pair. Either blank: receives without memory, kept full, each of
// which tells of one write with immediate; or one receive for each expected send, into its slot.
// Hot: nothing allocates after the constructor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/send_queue.h"

namespace gdrbench::verbs {

struct ReceiveQueueOptions {
  ibv_qp* qp = nullptr;
  std::uint8_t index = 0;
  std::uint32_t depth = 1;
};

class ReceiveQueue {
 public:
  ReceiveQueue(const ReceiveQueueOptions& options, const Memory& memory);
  ~ReceiveQueue();
  ReceiveQueue(ReceiveQueue&&) noexcept;

  /// One for this message, into its slot. False: no room.
  [[nodiscard]] bool append(const Expect& expect) noexcept;
  [[nodiscard]] bool hasChain() const noexcept { return chained_ != 0; }
  /// Posts what was appended: 0 or an errno value.
  [[nodiscard]] int post() noexcept;

  /// Posts blank ones until the queue is full, if at least `least` are missing; not more than
  /// `most`: 0 or an errno value.
  [[nodiscard]] int fill(std::size_t least, std::size_t most) noexcept;
  [[nodiscard]] std::size_t missing() const noexcept { return options_.depth - posted_; }

  /// A blank one was used.
  void used() noexcept { --posted_; }
  /// One for a slot was used: by this expect.
  Expect take() noexcept;

 private:
  struct Requests;  // of the vendor's types
  int postChain(std::size_t count) noexcept;

  ReceiveQueueOptions options_;
  Memory memory_;
  std::unique_ptr<Requests> requests_;
  std::size_t chained_ = 0;
  std::size_t posted_ = 0;
  std::vector<Expect> ring_;
  std::size_t mask_;
  std::uint64_t appended_ = 0, taken_ = 0;  // count up for ever
};

}  // namespace gdrbench::verbs
