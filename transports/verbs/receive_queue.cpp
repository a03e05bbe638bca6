// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/receive_queue.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>

namespace gdrbench::verbs {

struct ReceiveQueue::Requests {
  std::vector<ibv_recv_wr> work;
  std::vector<ibv_sge> pieces;

  explicit Requests(const ReceiveQueueOptions& options)
      : work(options.depth), pieces(options.depth) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i].next = i + 1 < work.size() ? &work[i + 1] : nullptr;
      work[i].wr_id = CompletionName::of(0, options.index, true);
    }
  }
};

ReceiveQueue::ReceiveQueue(const ReceiveQueueOptions& options, const Memory& memory)
    : options_(options),
      memory_(memory),
      requests_(std::make_unique<Requests>(options)),
      ring_(std::bit_ceil(std::size_t{options.depth})),
      mask_(ring_.size() - 1) {}

ReceiveQueue::~ReceiveQueue() = default;
ReceiveQueue::ReceiveQueue(ReceiveQueue&&) noexcept = default;

bool ReceiveQueue::append(const Expect& expect) noexcept {
  if (posted_ + chained_ >= options_.depth) return false;
  requests_->pieces[chained_] = {memory_.target + memory_.layout.offsetOf(expect.slot),
                                 static_cast<std::uint32_t>(expect.bytes), memory_.targetKey};
  requests_->work[chained_].sg_list = &requests_->pieces[chained_];
  requests_->work[chained_].num_sge = 1;
  ring_[appended_++ & mask_] = expect;
  ++chained_;
  return true;
}

int ReceiveQueue::post() noexcept {
  return postChain(std::exchange(chained_, 0));
}

int ReceiveQueue::fill(std::size_t least, std::size_t most) noexcept {
  const std::size_t count = std::min(missing(), most);
  return count == 0 || count < least ? 0 : postChain(count);
}

int ReceiveQueue::postChain(std::size_t count) noexcept {
  ibv_recv_wr& last = requests_->work[count - 1];
  ibv_recv_wr* const next = std::exchange(last.next, nullptr);
  ibv_recv_wr* bad = nullptr;
  const int code = ibv_post_recv(options_.qp, requests_->work.data(), &bad);
  last.next = next;
  posted_ += count;
  return code;
}

Expect ReceiveQueue::take() noexcept {
  --posted_;
  return ring_[taken_++ & mask_];
}

}  // namespace gdrbench::verbs
