// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/ping_pong.h"

#include "harness/patterns/device_marks.h"

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

/// Counts what arrives; the device's order says when.
class Arrivals {
 public:
  explicit Arrivals(std::uint32_t due) : due_(due) {}
  bool operator()(Ticket) noexcept { return ++here_ <= due_; }
  [[nodiscard]] bool all() const noexcept { return here_ == due_; }
  [[nodiscard]] std::uint32_t here() const noexcept { return here_; }

 private:
  std::uint32_t due_;
  std::uint32_t here_ = 0;
};

/// Each message with its reply is one submit, and the next one starts when that is done.
Result<Ticks> initiateOnStream(const Stage& stage, StreamDrive& device, const Block& block,
                               std::span<Ticks> samples) {
  LaneDriver driver(stage, block);
  if (!driver.expectSync(Sync::kReady) || !driver.awaitSync(Sync::kReady)) return driver.error(0);

  DeviceMarks marks(stage, device);
  SlotCounter slots(block.layout.count);
  Arrivals arrivals(block.total());
  bool good = marks.begin() && marks.mark();
  for (std::uint32_t i = 0; good && i < block.total(); ++i) {
    const Message message{i, slots.next(), block.bytes};
    good = driver.post({&message, 1}, {&message, 1}, arrivals) && marks.mark();
  }
  good = good && marks.launch();
  while (good && !(arrivals.all() && driver.outstanding() == 0)) good = driver.pump(arrivals);
  if (!good) return driver.error(arrivals.here());

  auto ticks = marks.read();
  if (!ticks) return ticks.error();
  for (std::uint32_t i = 0; i < block.messages; ++i) {
    samples[i] = (*ticks)[block.leadIn + i + 1] - (*ticks)[block.leadIn + i];
  }
  return ticks->back() - (*ticks)[block.leadIn];
}

/// A receive is enqueued behind the word "ready": in one order it would hold that back.
Status respondOnStream(const Stage& stage, StreamDrive& device, const Block& block) {
  LaneDriver driver(stage, block);
  if (!driver.sendSync(Sync::kReady)) return driver.error(0);
  SlotCounter slots(block.layout.count);
  Arrivals arrivals(block.total());
  Message message{0, slots.next(), block.bytes};
  bool good = device.collect() && driver.post({}, {&message, 1}, arrivals);
  for (std::uint32_t i = 1; good && i <= block.total(); ++i) {
    const Send reply = message;
    message = {i, slots.next(), block.bytes};
    good = driver.post({&reply, 1}, {&message, i < block.total() ? 1u : 0u}, arrivals);
  }
  good = good && device.launch();
  while (good && !(arrivals.all() && driver.outstanding() == 0)) good = driver.pump(arrivals);
  return good ? Status(Done{}) : driver.error(arrivals.here());
}

}  // namespace

bool PingPong::initiatorReceives(const Block& block) const {
  return block.flow != DataFlow::kNone;
}

bool PingPong::responderReceives(const Block& block) const {
  return block.flow == DataFlow::kPush;
}

Result<Ticks> PingPong::initiate(const Stage& stage, const Block& block,
                                 std::span<Ticks> samples) const {
  if (StreamDrive* device = stage.lane.streamDrive(); device != nullptr) {
    return initiateOnStream(stage, *device, block, samples);
  }
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
  if (StreamDrive* device = stage.lane.streamDrive(); device != nullptr) {
    return respondOnStream(stage, *device, block);
  }
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
