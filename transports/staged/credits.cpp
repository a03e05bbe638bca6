// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/credits.h"

#include <array>

namespace gdrbench::staged {

bool Credits::exchange(Chunk sent, Chunk done) noexcept {
  if (failed_) return false;
  expectMore();
  give(done);
  if (given_ != givenForGood_ || granted() - sent <= slots_ / 2) look();
  return !failed_;
}

/// Always posted ahead: a receive that is not there holds up some wires.
void Credits::expectMore() noexcept {
  while (expected_ - received_ < window(slots_)) {
    const Expect expect{static_cast<Ticket>(expected_), 0, kBytes};
    if (lane_->submit({}, {&expect, 1}).expects == 0) return;
    ++expected_;
  }
}

void Credits::give(Chunk done) noexcept {
  while (given_ < done / worth_) {
    const Send send{static_cast<Ticket>(given_), 0, kBytes};
    if (lane_->submit({&send, 1}, {}).sends == 0) return;
    ++given_;
  }
}

void Credits::look() noexcept {
  std::array<Event, 16> events;
  const std::size_t count = lane_->poll(events);
  for (std::size_t i = 0; i < count; ++i) {
    switch (events[i].kind) {
      case Event::Kind::kSent:
        ++givenForGood_;
        break;
      case Event::Kind::kArrived:
        ++received_;
        break;
      case Event::Kind::kFailed:
        failed_ = true;
        return;
    }
  }
}

}  // namespace gdrbench::staged
