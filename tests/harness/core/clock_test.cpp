// SPDX-License-Identifier: Apache-2.0
#include "harness/core/clock.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

using namespace gdrbench;
using namespace std::chrono_literals;

namespace {

/// The calibrated clock; it costs 100 ms, so all cases of one process share it.
const Clock& calibrated() {
  static const Clock clock = Clock::calibrate();
  return clock;
}

}  // namespace

TEST_CASE("the monotonic clock counts nanoseconds") {
  const Clock clock = Clock::monotonic();
  CHECK(clock.kind() == Clock::Kind::kMonotonic);
  CHECK(clock.ticksPerNanosecond() == 1);
  CHECK(clock.nanoseconds(1234) == 1234);
  CHECK(clock.ticks(1ms) == 1'000'000);
  CHECK(clock.note().find("CLOCK_MONOTONIC") == 0);
  const Ticks first = clock.now();
  std::this_thread::sleep_for(2ms);
  CHECK(clock.nanoseconds(clock.now() - first) >= 2e6);
}

TEST_CASE("a counter calibrated elsewhere converts by its rate") {
  const Clock clock = Clock::tsc(2.5);
  CHECK(clock.kind() == Clock::Kind::kTsc);
  CHECK(clock.nanoseconds(2500) == 1000);
  CHECK(clock.ticks(1us) == 2500);
  CHECK(clock.ticks(std::chrono::nanoseconds(0)) == 0);
}

TEST_CASE("the calibrated clock never runs backwards and says what it is") {
  const Clock& clock = calibrated();
  CHECK(clock.ticksPerNanosecond() > 0);
  CHECK_FALSE(clock.note().empty());
  if (clock.kind() == Clock::Kind::kTsc) {
    CHECK(clock.note().find("CLOCK_MONOTONIC_RAW") != std::string::npos);
  } else {
    CHECK(clock.ticksPerNanosecond() == 1);
  }
  Ticks last = clock.now();
  for (int i = 0; i < 100'000; ++i) {
    const Ticks next = clock.now();
    if (next < last) FAIL("went back by ", last - next);
    last = next;
  }
}

TEST_CASE("the calibrated clock agrees with the kernel's over a sleep") {
  const Clock& clock = calibrated();
  const auto raw = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  // The kernel is read inside of the clock's two reads: the clock's interval is the longer one,
  // whatever the machine does in between. The other bound is loose: 500 ppm for the kernel's own
  // adjustment when the clock is CLOCK_MONOTONIC.
  const Ticks start = clock.now();
  const double from = raw();
  std::this_thread::sleep_for(50ms);
  const double to = raw();
  const double measured = clock.nanoseconds(clock.now() - start);
  CHECK(measured > (to - from) * (1 - 1e-3));

  const double from2 = raw();
  const Ticks start2 = clock.now();
  std::this_thread::sleep_for(50ms);
  const double measured2 = clock.nanoseconds(clock.now() - start2);
  CHECK(measured2 < (raw() - from2) * (1 + 1e-3));
}

TEST_CASE("the price of the clock is a positive time, and so is its granularity") {
  for (const Clock& clock : {Clock::monotonic(), calibrated()}) {
    const ClockCost cost = measureCost(clock);
    CHECK(cost.readNs >= 0);
    CHECK(cost.readNs < 1e6);
    CHECK(cost.granularityNs > 0);
    CHECK(cost.granularityNs < 1e7);
  }
}
