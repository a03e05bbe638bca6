// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/lane_driver.h"

#include <fmt/format.h>

namespace gdrbench {

std::atomic<int> gStop{0};

namespace {

std::string nameOf(Ticket ticket) {
  if ((ticket & kSyncBit) == 0) return fmt::format("message {}", ticket);
  constexpr const char* kNames[] = {"'ready'", "'closing'", "'done'", "'go'"};
  return fmt::format("sync message {} of block {}", kNames[ticket & 3u], (ticket & ~kSyncBit) >> 2);
}

}  // namespace

Error LaneDriver::error(std::uint64_t done) const {
  const std::string place =
      fmt::format("block {}, {} of {} messages done", block_.sequence, done, block_.total());
  switch (stop_) {
    case Stop::kNone:  // a mark or a launch was refused
    case Stop::kLaneFailed: {
      Error error = stage_.lane.errorDetail();
      error.tried += fmt::format(" ({})", place);
      return error;
    }
    case Stop::kUnexpected:
      return {.code = ErrorCode::kData,
              .tried = fmt::format("keep the order of messages ({})", place),
              .nativeText =
                  fmt::format("{} arrived twice, or when it was not due", nameOf(unexpected_))};
    case Stop::kExpired:
      break;
  }
  if (const int stop = Guard::stop(); stop != 0) {
    return stoppedError(fmt::format("go on ({})", place), stop);
  }
  return {.code = ErrorCode::kTimeout,
          .tried = fmt::format("finish the block in time ({}, {} sends outstanding)", place,
                               outstanding()),
          .nativeText = "the deadline of the case passed while waiting for the peer",
          .next = "raise 'timeout' if the transport is only slow"};
}

}  // namespace gdrbench
