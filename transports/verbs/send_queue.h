// SPDX-License-Identifier: Apache-2.0
// The send queue of one queue pair: fills work requests, posts them as one chain, and remembers in
// order what each is to be reported as. Hot: nothing allocates after the constructor, and all of it
// is inlined into the lane's two functions. For that it needs the vendor's header; only
// verbs_lane.cpp and send_queue.cpp include this one.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/completion_name.h"
#include "transports/verbs/memory.h"

namespace gdrbench::verbs {

struct SendQueueOptions {
  ibv_qp* qp = nullptr;
  std::uint8_t index = 0;  ///< of the queue pair: comes back with its completions
  std::uint32_t depth = 1;
  std::uint32_t signalEvery = 1;
  std::uint32_t inlineBytes = 0;
  bool oneDoorbell = true;
  bool twoSided = false;  ///< messages are sends, not writes with immediate
};

class SendQueue {
 public:
  SendQueue(const SendQueueOptions& options, const Memory& memory);

  /// A message to the peer. False: no room, poll first.
  [[nodiscard]] bool push(const Message& message) noexcept { return append(push_, message); }
  /// One from the peer, by reading it.
  [[nodiscard]] bool fetch(const Message& message) noexcept { return append(fetch_, message); }

  [[nodiscard]] bool hasChain() const noexcept { return free_ != requests_.data(); }
  /// Posts what was appended: 0 or an errno value.
  [[nodiscard]] int post() noexcept {
    Request* const first = requests_.data();
    Request* const end = std::exchange(free_, first);
    unsignalled_ = 0;
    // Without one at the end, the last messages of a conversation would never be reported.
    end[-1].work.send_flags |= IBV_SEND_SIGNALED;
    return options_.oneDoorbell ? postChain(first, end) : postEach(end);
  }

  /// A completion of this queue came, with this number: everything up to it is done. Answers the
  /// first of it, and report() the rest.
  Event complete(std::uint64_t number) noexcept {
    completed_ = number;
    return ring_[reported_++ & mask_];
  }
  [[nodiscard]] bool hasDone() const noexcept { return reported_ != completed_; }
  std::size_t report(std::span<Event> events) noexcept {
    std::size_t n = 0;
    while (n < events.size() && hasDone()) events[n++] = ring_[reported_++ & mask_];
    return n;
  }

 private:
  struct Request {
    ibv_send_wr work;
    ibv_sge piece;
  };
  /// What all messages of one kind have in common.
  struct Shape {
    ibv_wr_opcode opcode;
    std::uint32_t localKey, remoteKey;
    std::uint64_t local, remote;
    std::int64_t inlineBytes;  ///< -1: not even a message without bytes
    Event::Kind toldAs;
  };

  bool append(const Shape& shape, const Message& message) noexcept {
    if (appended_ - reported_ >= options_.depth) return false;
    const std::uint64_t offset = layout_.offsetOf(message.slot);
    ring_[appended_++ & mask_] = {shape.toldAs, message.ticket};
    auto& [work, piece] = *free_++;
    piece = {shape.local + offset, static_cast<std::uint32_t>(message.bytes), shape.localKey};
    work.wr_id = CompletionName::of(appended_, name_);
    work.opcode = shape.opcode;
    const bool isInline = static_cast<std::int64_t>(message.bytes) <= shape.inlineBytes;
    work.send_flags = isInline ? IBV_SEND_INLINE : 0;
    work.imm_data = htonl(message.ticket);
    work.wr.rdma.remote_addr = shape.remote + offset;
    work.wr.rdma.rkey = shape.remoteKey;
    if (++unsignalled_ >= options_.signalEvery) {
      work.send_flags |= IBV_SEND_SIGNALED;
      unsignalled_ = 0;
    }
    return true;
  }

  int postChain(Request* first, Request* end) noexcept {
    ibv_send_wr& last = end[-1].work;
    ibv_send_wr* const next = std::exchange(last.next, nullptr);
    ibv_send_wr* bad;
    const int code = ibv_post_send(options_.qp, &first->work, &bad);
    last.next = next;
    return code;
  }
  int postEach(Request* end) noexcept;

  SendQueueOptions options_;
  std::uint64_t name_;  ///< of its completions, less their number
  SlotLayout layout_;
  Shape push_, fetch_;
  /// As many as the queue is deep. They stay linked; a chain is cut where it ends, and only while
  /// it is posted. What no message changes is filled once.
  std::vector<Request> requests_;
  Request* free_;                  ///< those before it are filled and not posted
  std::uint32_t unsignalled_ = 0;  ///< since the last one that was
  std::vector<Event> ring_;        ///< what each is to be reported as
  std::size_t mask_;
  std::uint64_t appended_ = 0, completed_ = 0, reported_ = 0;  // count up for ever
};

}  // namespace gdrbench::verbs
