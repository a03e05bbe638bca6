// SPDX-License-Identifier: Apache-2.0
// The clock that stamps messages: the invariant time-stamp counter where the CPU has one,
// CLOCK_MONOTONIC otherwise. Stamps are ticks; a Clock turns differences of ticks into
// nanoseconds.
//
// The counter is calibrated against CLOCK_MONOTONIC_RAW once per host, by the conductor or the
// agent, and handed to the workers, so that a worker does not spend 100 ms on it and the
// two workers of one host count alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "harness/core/result.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gdrbench {

using Ticks = std::uint64_t;

class Clock {
 public:
  enum class Kind { kTsc, kMonotonic };

  /// CLOCK_MONOTONIC in nanoseconds; needs no calibration.
  static Clock monotonic();

  /// A counter already calibrated elsewhere on this host.
  static Clock tsc(double ticksPerNanosecond);

  /// The best clock of this host. Takes about 0.5 s where there is an invariant counter: five
  /// intervals of 100 ms, refused when they differ by more than 50 ppm (then: monotonic()).
  static Clock calibrate();

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] double ticksPerNanosecond() const noexcept { return ticksPerNanosecond_; }
  /// Why the counter is not used, or how well it was calibrated; for the report.
  [[nodiscard]] const std::string& note() const noexcept { return note_; }

  /// A stamp. A fence keeps the read from being taken before earlier loads have completed.
  [[nodiscard]] Ticks now() const noexcept {
#if defined(__x86_64__)
    if (kind_ == Kind::kTsc) {
      _mm_lfence();
      return __rdtsc();
    }
#endif
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<Ticks>(t.tv_sec) * 1'000'000'000u + static_cast<Ticks>(t.tv_nsec);
  }

  [[nodiscard]] double nanoseconds(Ticks difference) const noexcept {
    return static_cast<double>(difference) / ticksPerNanosecond_;
  }
  [[nodiscard]] Ticks ticks(std::chrono::nanoseconds duration) const noexcept {
    return static_cast<Ticks>(static_cast<double>(duration.count()) * ticksPerNanosecond_);
  }

 private:
  Clock(Kind kind, double ticksPerNanosecond, std::string note);

  Kind kind_;
  double ticksPerNanosecond_;
  std::string note_;
};

/// The price of the clock itself: the report shows it beside every latency.
struct ClockCost {
  double readNs = 0;         ///< median of back-to-back reads
  double granularityNs = 0;  ///< smallest difference above zero that was seen
};

/// Measures `clock` here and now; takes about a millisecond.
ClockCost measureCost(const Clock& clock);

}  // namespace gdrbench
