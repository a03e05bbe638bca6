// SPDX-License-Identifier: Apache-2.0
// The receive queue of one queue pair. Either blank: receives without memory, kept full, each of
// which tells of one write with immediate; or one receive for each expected send, into its slot.
// Hot, and inlined into the lane, as send_queue.h is.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/completion_name.h"
#include "transports/verbs/memory.h"

namespace gdrbench::verbs {

struct ReceiveQueueOptions {
  ibv_qp* qp = nullptr;
  std::uint8_t index = 0;
  std::uint32_t depth = 1;
  bool blank = true;
};

class ReceiveQueue {
 public:
  ReceiveQueue(const ReceiveQueueOptions& options, const Memory& memory);

  /// One for this message, into its slot. False: no room.
  [[nodiscard]] bool append(const Expect& expect) noexcept {
    if (appended_ - taken_ >= options_.depth) return false;
    (free_++)->piece = {target_ + layout_.offsetOf(expect.slot),
                        static_cast<std::uint32_t>(expect.bytes), targetKey_};
    ring_[appended_++ & mask_] = expect;
    return true;
  }
  [[nodiscard]] bool hasChain() const noexcept { return free_ != requests_.data(); }
  /// Posts what was appended: 0 or an errno value.
  [[nodiscard]] int post() noexcept {
    return postChain(std::exchange(free_, requests_.data())[-1].work);
  }
  /// The oldest of them was used: by this expect.
  const Expect& take() noexcept { return ring_[taken_++ & mask_]; }

  [[nodiscard]] std::size_t missing() const noexcept { return missing_; }
  /// Posts so many blank ones: 0 or an errno value.
  [[nodiscard]] int postBlank(std::size_t count) noexcept {
    missing_ -= count;
    return postChain(requests_[count - 1].work);
  }
  /// A blank one was used.
  void used() noexcept { ++missing_; }

 private:
  struct Request {
    ibv_recv_wr work;
    ibv_sge piece;
  };

  int postChain(ibv_recv_wr& last) noexcept {
    ibv_recv_wr* const next = std::exchange(last.next, nullptr);
    ibv_recv_wr* bad;
    const int code = ibv_post_recv(options_.qp, &requests_.front().work, &bad);
    last.next = next;
    return code;
  }

  ReceiveQueueOptions options_;
  SlotLayout layout_;
  std::uint64_t target_;
  std::uint32_t targetKey_;
  std::vector<Request> requests_;  ///< linked; see SendQueue
  Request* free_;                  ///< those before it are filled and not posted
  std::size_t missing_;            ///< blank ones
  std::vector<Expect> ring_;       ///< in the order in which they will be used
  std::size_t mask_;
  std::uint64_t appended_ = 0, taken_ = 0;  // count up for ever
};

}  // namespace gdrbench::verbs
