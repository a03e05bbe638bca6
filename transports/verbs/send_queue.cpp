// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/send_queue.h"

#include <bit>

namespace gdrbench::verbs {

SendQueue::SendQueue(const SendQueueOptions& options, const Memory& memory)
    : options_(options),
      name_(CompletionName::of(options.index, false)),
      layout_(memory.layout),
      push_{.opcode = options.twoSided ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM,
            .localKey = memory.sourceKey,
            .remoteKey = memory.peerTargetKey,
            .local = memory.source,
            .remote = memory.peerTarget,
            .inlineBytes = options.inlineBytes,
            .toldAs = Event::Kind::kSent},
      fetch_{.opcode = IBV_WR_RDMA_READ,
             .localKey = memory.targetKey,
             .remoteKey = memory.peerSourceKey,
             .local = memory.target,
             .remote = memory.peerSource,
             .inlineBytes = -1,
             .toldAs = Event::Kind::kArrived},
      requests_(options.depth),
      free_(requests_.data()),
      ring_(std::bit_ceil(std::size_t{options.depth})),
      mask_(ring_.size() - 1) {
  for (Request& each : requests_) {
    each.work.next = &each == &requests_.back() ? nullptr : &(&each)[1].work;
    each.work.sg_list = &each.piece;
    each.work.num_sge = 1;
  }
}

int SendQueue::postEach(Request* end) noexcept {
  for (Request* each = requests_.data(); each != end; ++each) {
    if (const int code = postChain(each, each + 1); code != 0) return code;
  }
  return 0;
}

}  // namespace gdrbench::verbs
