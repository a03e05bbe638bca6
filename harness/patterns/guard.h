// SPDX-License-Identifier: Apache-2.0
// Ends a wait that would not end by itself: asked after every empty poll.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "harness/core/clock.h"

namespace gdrbench {

/// Set by the worker: the number of a signal that came, or kStopOtherSide; 0 while nothing stops
/// it.
extern std::atomic<int> gStop;

class Guard {
 public:
  /// `sharesCore`: both sides run on one core, so a spinning side must give way.
  Guard(const Clock& clock, Ticks deadline, bool sharesCore)
      : clock_(clock), deadline_(deadline), sharesCore_(sharesCore) {}

  /// True when the wait must end. Looks at the clock and the flag only at each 1024th call.
  [[nodiscard]] bool expired() noexcept {
    if (sharesCore_) sched_yield();
    if ((++calls_ & 1023u) != 0) return false;
    return gStop.load(std::memory_order_relaxed) != 0 || clock_.now() >= deadline_;
  }

  /// Why: what stops the worker, or 0 for the deadline.
  [[nodiscard]] static int stop() noexcept { return gStop.load(std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  Ticks deadline_;
  bool sharesCore_;
  std::uint32_t calls_ = 0;
};

}  // namespace gdrbench
