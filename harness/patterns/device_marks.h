// SPDX-License-Identifier: Apache-2.0
// Stream drive: what patterns do with a lane whose device takes the times.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/patterns/lane_driver.h"

namespace gdrbench {

/// Enqueues a block between collect() and launch(), awaits all of its events, reads the marks.
class DeviceMarks {
 public:
  DeviceMarks(const Stage& stage, StreamDrive& device) : stage_(stage), device_(device) {}

  [[nodiscard]] bool begin() noexcept { return device_.collect(); }
  [[nodiscard]] bool mark() noexcept {
    ++marks_;
    return device_.mark();
  }
  [[nodiscard]] bool launch() noexcept { return device_.launch(); }

  /// Since the first mark, as ticks of the clock that everything else is measured with.
  Result<std::vector<Ticks>> read() const {
    std::vector<double> nanoseconds(marks_);
    if (Status good = device_.readMarks(nanoseconds); !good) return good.error();
    std::vector<Ticks> ticks;
    ticks.reserve(marks_);
    for (const double each : nanoseconds) {
      ticks.push_back(static_cast<Ticks>(each * stage_.clock.ticksPerNanosecond()));
    }
    return ticks;
  }

 private:
  const Stage& stage_;
  StreamDrive& device_;
  std::size_t marks_ = 0;
};

}  // namespace gdrbench
