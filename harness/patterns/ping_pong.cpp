// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/ping_pong.h"

#include "harness/patterns/lane_driver.h"

namespace gdrbench {
namespace {

/// Slots are used round robin; a counter is cheaper than a division in the timed part.
class SlotCounter {
 public:
  explicit SlotCounter(std::uint32_t count) : count_(count) {}
  std::uint32_t next() noexcept {
    const std::uint32_t slot = slot_;
    if (++slot_ == count_) slot_ = 0;
    return slot;
  }

 private:
  std::uint32_t count_;
  std::uint32_t slot_ = 0;
};

}  // namespace

bool PingPong::initiatorReceives(const Block& block) const {
  return block.flow != DataFlow::kNone;
}

bool PingPong::responderReceives(const Block& block) const {
  return block.flow == DataFlow::kPush;
}

Result<Ticks> PingPong::initiate(const Stage& stage, const Block& block,
                                 std::span<Ticks> samples) const {
  LaneDriver driver(stage, block);
  if (!driver.expectSync(Sync::kReady) || !driver.awaitSync(Sync::kReady)) return driver.error(0);

  const bool pull = block.flow == DataFlow::kPull;
  const std::uint32_t total = block.total();
  SlotCounter slots(block.layout.count);
  Ticks first = 0;
  Ticks last = 0;
  for (std::uint32_t i = 0; i < total; ++i) {
    const Message message{i, slots.next(), block.bytes};
    bool here = false;
    const auto arrived = [&](Ticket ticket) { return !here && (here = ticket == i); };
    const std::span<const Send> sends{&message, pull ? 0u : 1u};

    const Ticks start = stage.clock.now();
    if (!driver.post(sends, {&message, 1}, arrived)) return driver.error(i);
    while (!here) {
      if (!driver.pump(arrived)) return driver.error(i);
    }
    last = stage.clock.now();

    if (i < block.leadIn) continue;
    if (i == block.leadIn) first = start;
    samples[i - block.leadIn] = last - start;
  }
  if (pull && !driver.sendSync(Sync::kDone)) return driver.error(total);
  if (!driver.drain()) return driver.error(total);
  return last - first;
}

Status PingPong::respond(const Stage& stage, const Block& block) const {
  LaneDriver driver(stage, block);
  if (block.flow == DataFlow::kPull) {
    const bool good = driver.expectSync(Sync::kDone) && driver.sendSync(Sync::kReady) &&
                      driver.awaitSync(Sync::kDone) && driver.drain();
    return good ? Status(Done{}) : driver.error(0);
  }

  SlotCounter slots(block.layout.count);
  const std::uint32_t total = block.total();
  Message message{0, slots.next(), block.bytes};
  bool here = false;
  std::uint32_t due = 0;
  const auto arrived = [&](Ticket ticket) { return !here && (here = ticket == due); };

  // The receive for message i is posted before the peer can send it: the first one before 'ready',
  // each next one together with the reply.
  if (!driver.post({}, {&message, 1}, arrived) || !driver.sendSync(Sync::kReady)) {
    return driver.error(0);
  }
  for (; due < total;) {
    while (!here) {
      if (!driver.pump(arrived)) return driver.error(due);
    }
    here = false;
    const Send reply = message;
    ++due;
    message = {due, slots.next(), block.bytes};
    const std::span<const Expect> next{&message, due < total ? 1u : 0u};
    if (!driver.post({&reply, 1}, next, arrived)) return driver.error(due);
  }
  return driver.drain() ? Status(Done{}) : driver.error(total);
}

}  // namespace gdrbench
