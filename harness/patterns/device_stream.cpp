// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/device_stream.h"

#include <algorithm>
#include <vector>

#include "harness/patterns/device_marks.h"

namespace gdrbench {
namespace {

/// The data of one block: enqueued in batches, counted when it arrives.
class DeviceFlow {
 public:
  DeviceFlow(LaneDriver& driver, const Block& block, bool sends, bool receives)
      : driver_(driver), block_(block), sends_(sends), receives_(receives), batch_(block.batch) {}

  [[nodiscard]] bool enqueueAll() noexcept {
    std::uint32_t slot = 0;
    for (std::uint32_t from = 0; from < block_.total(); from += block_.batch) {
      const std::uint32_t count = std::min(block_.batch, block_.total() - from);
      for (std::uint32_t i = 0; i < count; ++i) {
        batch_[i] = {from + i, slot, block_.bytes};
        if (++slot == block_.layout.count) slot = 0;
      }
      const std::span<const Message> batch(batch_.data(), count);
      const std::span<const Message> none;
      if (!driver_.post(sends_ ? batch : none, receives_ ? batch : none, *this)) return false;
    }
    return true;
  }

  /// Until everything is reported, the closing message included.
  [[nodiscard]] bool finish() noexcept {
    while (!allArrived() || driver_.outstanding() != 0) {
      if (!driver_.pump(*this)) return false;
    }
    return true;
  }

  void expectClosing() noexcept { closingDue_ = 1; }
  bool operator()(Ticket ticket) noexcept {
    return (ticket & kSyncBit) != 0 ? ++closing_ <= closingDue_ : ++arrived_ <= due();
  }
  [[nodiscard]] std::uint32_t done() const noexcept { return receives_ ? arrived_ : 0; }

 private:
  [[nodiscard]] std::uint32_t due() const noexcept { return receives_ ? block_.total() : 0; }
  [[nodiscard]] bool allArrived() const noexcept {
    return arrived_ == due() && closing_ == closingDue_;
  }

  LaneDriver& driver_;
  const Block& block_;
  bool sends_, receives_;
  std::uint32_t arrived_ = 0, closing_ = 0, closingDue_ = 0;
  std::vector<Message> batch_;
};

}  // namespace

Result<Ticks> initiateStreamOnDevice(const Stage& stage, StreamDrive& device, const Block& block) {
  LaneDriver driver(stage, block);
  DeviceFlow flow(driver, block, true, block.direction == Direction::kBi);
  if (!driver.expectSync(Sync::kReady) || !driver.awaitSync(Sync::kReady)) return driver.error(0);

  DeviceMarks marks(stage, device);
  flow.expectClosing();
  const bool good = marks.begin() && marks.mark() && flow.enqueueAll() &&
                    driver.expectSync(Sync::kClosing, flow) && marks.mark() && marks.launch() &&
                    flow.finish();
  if (!good) return driver.error(flow.done());
  auto ticks = marks.read();
  if (!ticks) return ticks.error();
  return ticks->back();
}

Status respondToStreamOnDevice(const Stage& stage, StreamDrive& device, const Block& block) {
  LaneDriver driver(stage, block);
  DeviceFlow flow(driver, block, block.direction == Direction::kBi, true);
  const bool good = driver.sendSync(Sync::kReady) && device.collect() && flow.enqueueAll() &&
                    driver.sendSync(Sync::kClosing, flow) && device.launch() && flow.finish();
  return good ? Status(Done{}) : driver.error(flow.done());
}

}  // namespace gdrbench
