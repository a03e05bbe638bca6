// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/send_queue.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>

namespace gdrbench::verbs {

/// As many as the queue is deep. They stay linked; a chain is cut where it ends, and only while it
/// is posted. What no message changes is filled once.
struct SendQueue::Requests {
  std::vector<ibv_send_wr> work;
  std::vector<ibv_sge> pieces;

  explicit Requests(std::size_t depth) : work(depth), pieces(depth) {
    for (std::size_t i = 0; i < depth; ++i) {
      work[i].next = i + 1 < depth ? &work[i + 1] : nullptr;
      work[i].sg_list = &pieces[i];
      work[i].num_sge = 1;
    }
  }
};

SendQueue::SendQueue(const SendQueueOptions& options, const Memory& memory)
    : options_(options),
      memory_(memory),
      requests_(std::make_unique<Requests>(options.depth)),
      ring_(std::bit_ceil(std::size_t{options.depth})),
      mask_(ring_.size() - 1) {}

SendQueue::~SendQueue() = default;
SendQueue::SendQueue(SendQueue&&) noexcept = default;

bool SendQueue::append(Verb verb, const Message& message) noexcept {
  if (appended_ - reported_ >= options_.depth) return false;
  ibv_send_wr& work = requests_->work[chained_];
  ibv_sge& piece = requests_->pieces[chained_];
  const std::uint64_t offset = memory_.layout.offsetOf(message.slot);
  piece.length = static_cast<std::uint32_t>(message.bytes);
  work.send_flags = 0;
  if (verb == Verb::kRead) {
    piece.addr = memory_.target + offset;
    piece.lkey = memory_.targetKey;
    work.opcode = IBV_WR_RDMA_READ;
    work.wr.rdma.remote_addr = memory_.peerSource + offset;
    work.wr.rdma.rkey = memory_.peerSourceKey;
  } else {
    piece.addr = memory_.source + offset;
    piece.lkey = memory_.sourceKey;
    if (message.bytes <= options_.inlineBytes) work.send_flags = IBV_SEND_INLINE;
    work.opcode = verb == Verb::kSend ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM;
    work.imm_data = htonl(message.ticket);
    work.wr.rdma.remote_addr = memory_.peerTarget + offset;
    work.wr.rdma.rkey = memory_.peerTargetKey;
  }
  ring_[appended_ & mask_] = {message.ticket,
                              verb == Verb::kRead ? Event::Kind::kArrived : Event::Kind::kSent};
  ++appended_;
  work.wr_id = CompletionName::of(appended_, options_.index, false);
  if (++unsignalled_ >= options_.signalEvery) {
    work.send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  }
  ++chained_;
  return true;
}

int SendQueue::post() noexcept {
  const std::size_t count = std::exchange(chained_, 0);
  ibv_send_wr* const first = requests_->work.data();
  ibv_send_wr& last = first[count - 1];
  // Without one at the end, the last messages of a conversation would never be reported.
  last.send_flags |= IBV_SEND_SIGNALED;
  unsignalled_ = 0;
  ibv_send_wr* bad = nullptr;
  if (options_.oneDoorbell) {
    ibv_send_wr* const next = std::exchange(last.next, nullptr);
    const int code = ibv_post_send(options_.qp, first, &bad);
    last.next = next;
    return code;
  }
  for (std::size_t i = 0; i < count; ++i) {
    ibv_send_wr* const next = std::exchange(first[i].next, nullptr);
    const int code = ibv_post_send(options_.qp, &first[i], &bad);
    first[i].next = next;
    if (code != 0) return code;
  }
  return 0;
}

std::size_t SendQueue::report(std::span<Event> events) noexcept {
  const std::size_t count =
      std::min(static_cast<std::size_t>(completed_ - reported_), events.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Outstanding& done = ring_[(reported_ + i) & mask_];
    events[i] = {done.kind, done.ticket};
  }
  reported_ += count;
  return count;
}

}  // namespace gdrbench::verbs
