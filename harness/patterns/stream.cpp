// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/stream.h"

#include <algorithm>
#include <vector>

#include "harness/patterns/device_stream.h"
#include "harness/patterns/lane_driver.h"

namespace gdrbench {
namespace {

/// The data messages of one side of one block: what it still has to submit, and what has arrived.
class Flow {
 public:
  Flow(LaneDriver& driver, Lane& lane, const Block& block, bool sends, bool receives)
      : driver_(driver),
        lane_(lane),
        block_(block),
        toSend_(sends ? block.total() : 0),
        toExpect_(receives ? block.total() : 0),
        expectLimit_(block.flow == DataFlow::kPull ? block.window : block.total()),
        seen_(receives ? block.total() : 0, false),
        batch_(std::max(block.batch, kExpectsAtOnce)) {}

  /// Posts as many receives as the lane takes now.
  void offerReceives() noexcept {
    // A lane that was full stays full until something arrives; ask anyway now and then.
    if (arrived_ == refusedAt_ && (++skipped_ & 63u) != 0) return;
    refusedAt_ = kNotRefused;
    while (expected_ < toExpect_ && expected_ - arrived_ < expectLimit_) {
      const auto want = std::min({toExpect_ - expected_, expectLimit_ - (expected_ - arrived_),
                                  std::max(kExpectsAtOnce, pullBatch())});
      if (!worthFetching(want)) return;
      prepare(expected_, want);
      const std::size_t taken = lane_.submit({}, {batch_.data(), want}).expects;
      expected_ += static_cast<std::uint32_t>(taken);
      if (taken < want) {
        refusedAt_ = arrived_;
        return;
      }
    }
  }

  /// Submits one batch if the window has room for it.
  void offerSends() noexcept {
    if (sent_ == toSend_) return;
    const auto want = std::min(block_.batch, toSend_ - sent_);
    if (driver_.outstanding() + want > block_.window) return;
    prepare(sent_, want);
    const std::size_t taken = lane_.submit({batch_.data(), want}, {}).sends;
    driver_.countSubmitted(taken);
    sent_ += static_cast<std::uint32_t>(taken);
  }

  [[nodiscard]] bool take(Ticket ticket) noexcept {
    if (ticket >= expected_ || seen_[ticket] != 0) return false;
    seen_[ticket] = 1;
    ++arrived_;
    return true;
  }

  [[nodiscard]] bool allArrived() const noexcept { return arrived_ == toExpect_; }
  [[nodiscard]] bool allSubmitted() const noexcept { return sent_ == toSend_; }
  [[nodiscard]] bool allExpected() const noexcept { return expected_ == toExpect_; }
  [[nodiscard]] std::uint32_t done() const noexcept { return std::max(arrived_, sent_); }

 private:
  static constexpr std::uint32_t kExpectsAtOnce = 64;
  static constexpr std::uint32_t kNotRefused = ~std::uint32_t{0};

  /// A fetch is work that the initiator batches like sends; a posted receive is not.
  [[nodiscard]] std::uint32_t pullBatch() const noexcept {
    return block_.flow == DataFlow::kPull ? block_.batch : 1;
  }
  [[nodiscard]] bool worthFetching(std::uint32_t want) const noexcept {
    return block_.flow != DataFlow::kPull || want >= std::min(block_.batch, toExpect_ - expected_);
  }
  void prepare(std::uint32_t from, std::uint32_t count) noexcept {
    std::uint32_t slot = from % block_.layout.count;
    for (std::uint32_t i = 0; i < count; ++i) {
      batch_[i] = {from + i, slot, block_.bytes};
      if (++slot == block_.layout.count) slot = 0;
    }
  }

  LaneDriver& driver_;
  Lane& lane_;
  const Block& block_;
  std::uint32_t toSend_, toExpect_, expectLimit_;
  std::uint32_t sent_ = 0, expected_ = 0, arrived_ = 0;
  std::uint32_t refusedAt_ = kNotRefused, skipped_ = 0;
  std::vector<std::uint8_t> seen_;
  std::vector<Message> batch_;
};

/// A sync message that comes at some time during the block, or is not due at all.
class Awaited {
 public:
  Awaited(LaneDriver& driver, Ticket ticket, bool due)
      : driver_(driver), ticket_(ticket), here_(!due) {}

  /// The receives of a two-sided lane are matched in order, so the one for the closing message can
  /// be posted only after those for all data.
  template <class OnArrived>
  [[nodiscard]] bool expectAfter(const Flow& flow, OnArrived&& arrived) noexcept {
    if (here_ || posted_ || !flow.allExpected()) return true;
    posted_ = true;
    return driver_.expectSync(Sync::kClosing, arrived);
  }
  [[nodiscard]] bool take(Ticket ticket) noexcept {
    if (ticket != ticket_ || here_) return false;
    here_ = true;
    return true;
  }
  [[nodiscard]] bool here() const noexcept { return here_; }

 private:
  LaneDriver& driver_;
  Ticket ticket_;
  bool here_;
  bool posted_ = false;
};

bool pulls(const Block& block) {
  return block.flow == DataFlow::kPull;
}
bool bothWays(const Block& block) {
  return block.direction == Direction::kBi;
}

}  // namespace

bool Stream::initiatorReceives(const Block& block) const {
  return block.flow != DataFlow::kNone && (pulls(block) || bothWays(block));
}

bool Stream::responderReceives(const Block& block) const {
  return block.flow != DataFlow::kNone && (!pulls(block) || bothWays(block));
}

Result<Ticks> Stream::initiate(const Stage& stage, const Block& block, std::span<Ticks>) const {
  if (StreamDrive* device = stage.lane.streamDrive(); device != nullptr) {
    return initiateStreamOnDevice(stage, *device, block);
  }
  LaneDriver driver(stage, block);
  const bool closingDue = !pulls(block) || bothWays(block);
  Flow flow(driver, stage.lane, block, !pulls(block), pulls(block) || bothWays(block));
  Awaited closing(driver, syncTicket(Sync::kClosing, block.sequence), closingDue);

  if (!driver.expectSync(Sync::kReady)) return driver.error(0);
  if (!pulls(block)) flow.offerReceives();
  const auto arrived = [&](Ticket ticket) {
    return (ticket & kSyncBit) != 0 ? closing.take(ticket) : flow.take(ticket);
  };
  if (!driver.awaitSync(Sync::kReady, arrived)) return driver.error(0);

  const Ticks start = stage.clock.now();
  if (bothWays(block) && !driver.sendSync(Sync::kGo, arrived)) return driver.error(0);
  while (!closing.here() || !flow.allArrived() || !flow.allSubmitted()) {
    flow.offerReceives();
    if (!closing.expectAfter(flow, arrived)) return driver.error(flow.done());
    flow.offerSends();
    if (!driver.pump(arrived)) return driver.error(flow.done());
  }
  const Ticks stop = stage.clock.now();

  if (pulls(block) && !driver.sendSync(Sync::kDone)) return driver.error(flow.done());
  if (!driver.drain()) return driver.error(flow.done());
  return stop - start;
}

Status Stream::respond(const Stage& stage, const Block& block) const {
  if (StreamDrive* device = stage.lane.streamDrive(); device != nullptr) {
    return respondToStreamOnDevice(stage, *device, block);
  }
  LaneDriver driver(stage, block);
  Flow flow(driver, stage.lane, block, !pulls(block) && bothWays(block),
            !pulls(block) || bothWays(block));
  // In a pull the initiator says when it has fetched everything: this side must keep going until
  // then. Both ways at once, it says when its clock runs: what is sent before would not be timed.
  Awaited done(driver, syncTicket(Sync::kDone, block.sequence), pulls(block));
  Awaited go(driver, syncTicket(Sync::kGo, block.sequence), bothWays(block));
  const auto arrived = [&](Ticket ticket) {
    if ((ticket & kSyncBit) == 0) return flow.take(ticket);
    return go.take(ticket) || done.take(ticket);
  };

  if (!go.here() && !driver.expectSync(Sync::kGo)) return driver.error(0);
  if (!done.here() && !driver.expectSync(Sync::kDone, arrived)) return driver.error(0);
  if (!pulls(block)) flow.offerReceives();
  if (!driver.sendSync(Sync::kReady, arrived)) return driver.error(0);
  while (!flow.allArrived() || !flow.allSubmitted()) {
    if (!pulls(block) || go.here()) flow.offerReceives();
    if (go.here()) flow.offerSends();
    if (!driver.pump(arrived)) return driver.error(flow.done());
  }
  if ((!pulls(block) || bothWays(block)) && !driver.sendSync(Sync::kClosing, arrived)) {
    return driver.error(flow.done());
  }
  while (!done.here()) {
    if (!driver.pump(arrived)) return driver.error(flow.done());
  }
  return driver.drain() ? Status(Done{}) : driver.error(flow.done());
}

}  // namespace gdrbench
