// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/receive_queue.h"

#include <bit>

namespace gdrbench::verbs {

ReceiveQueue::ReceiveQueue(const ReceiveQueueOptions& options, const Memory& memory)
    : options_(options),
      layout_(memory.layout),
      target_(memory.target),
      targetKey_(memory.targetKey),
      requests_(options.depth),
      free_(requests_.data()),
      missing_(options.blank ? options.depth : 0),
      ring_(std::bit_ceil(std::size_t{options.depth})),
      mask_(ring_.size() - 1) {
  for (Request& each : requests_) {
    each.work.next = &each == &requests_.back() ? nullptr : &(&each)[1].work;
    each.work.wr_id = CompletionName::of(options.index, true);
    if (options.blank) continue;
    each.work.sg_list = &each.piece;
    each.work.num_sge = 1;
  }
}

}  // namespace gdrbench::verbs
