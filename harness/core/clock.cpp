// SPDX-License-Identifier: Apache-2.0
#include "harness/core/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

namespace gdrbench {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kIntervals = 5;
constexpr auto kInterval = std::chrono::milliseconds(20);
constexpr double kMostSpread = 50e-6;

/// The first "flags" line of /proc/cpuinfo, each flag between spaces. Its "cpu MHz" is never used:
/// it is the momentary clock of a core, not the rate of the counter.
std::string cpuFlags() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("flags")) return line + " ";
  }
  return {};
}

std::string clockSource() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  file >> name;
  return name;
}

/// Why the counter cannot be used; empty when it can. kvm-clock is the same counter, scaled by the
/// host: a guest that runs on it has an invariant counter when its flags say so.
std::string counterProblem() {
  const std::string flags = cpuFlags();
  for (const char* flag : {"constant_tsc", "nonstop_tsc"}) {
    if (flags.find(fmt::format(" {} ", flag)) == std::string::npos) {
      return fmt::format("the CPU has no {}", flag);
    }
  }
  const std::string source = clockSource();
  if (source != "tsc" && source != "kvm-clock") {
    return fmt::format("the kernel's clock source is '{}'", source);
  }
  return {};
}

std::uint64_t rawNanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

struct Instant {
  Ticks ticks;
  std::uint64_t ns;
};

/// The counter and the kernel's clock at one moment: of several tries the one with the least time
/// between the two reads of the counter, so that an interrupt in between does no harm.
Instant instant() {
  Instant best{};
  Ticks least = ~Ticks{0};
  for (int i = 0; i < 16; ++i) {
    _mm_lfence();
    const Ticks before = __rdtsc();
    const std::uint64_t ns = rawNanoseconds();
    _mm_lfence();
    const Ticks after = __rdtsc();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

double rateBetween(const Instant& start, const Instant& stop) {
  return static_cast<double>(stop.ticks - start.ticks) / static_cast<double>(stop.ns - start.ns);
}

struct CounterRate {
  double overAll;
  double spread;  ///< between the intervals, as a share
};

/// The rate over all intervals together, which is the most exact; the spread tells whether the
/// counter, or an instant, is off.
CounterRate counterRate() {
  std::array<Instant, kIntervals + 1> instants{instant()};
  std::array<double, kIntervals> rates{};
  for (std::size_t i = 0; i < kIntervals; ++i) {
    std::this_thread::sleep_for(kInterval);
    instants[i + 1] = instant();
    rates[i] = rateBetween(instants[i], instants[i + 1]);
  }
  const double overAll = rateBetween(instants.front(), instants.back());
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  return {overAll, (*most - *least) / overAll};
}

#endif

}  // namespace

Clock::Clock(Kind kind, double ticksPerNanosecond, std::string note)
    : kind_(kind), ticksPerNanosecond_(ticksPerNanosecond), note_(std::move(note)) {}

Clock Clock::monotonic() {
  return {Kind::kMonotonic, 1.0, "CLOCK_MONOTONIC"};
}

Clock Clock::tsc(double ticksPerNanosecond) {
  return {Kind::kTsc, ticksPerNanosecond, "time-stamp counter, calibrated elsewhere on this host"};
}

Clock Clock::calibrate() {
#if defined(__x86_64__)
  if (const std::string problem = counterProblem(); !problem.empty()) {
    return {Kind::kMonotonic, 1.0, "CLOCK_MONOTONIC: " + problem};
  }
  const auto [rate, spread] = counterRate();
  if (spread > kMostSpread) {
    return {Kind::kMonotonic, 1.0,
            fmt::format("CLOCK_MONOTONIC: the counter's rate differs by {:.1f} ppm between "
                        "intervals of {} ms",
                        spread * 1e6, kInterval.count())};
  }
  return {Kind::kTsc, rate,
          fmt::format("time-stamp counter at {:.6f} GHz, calibrated against CLOCK_MONOTONIC_RAW, "
                      "spread {:.2f} ppm",
                      rate, spread * 1e6)};
#else
  return {Kind::kMonotonic, 1.0, "CLOCK_MONOTONIC: no time-stamp counter on this architecture"};
#endif
}

ClockCost measureCost(const Clock& clock) {
  constexpr std::size_t kReads = 20'000;
  std::vector<Ticks> stamps(kReads);
  for (Ticks& stamp : stamps) stamp = clock.now();
  std::vector<double> steps;
  steps.reserve(kReads);
  double smallest = 0;
  for (std::size_t i = 1; i < kReads; ++i) {
    const double step = clock.nanoseconds(stamps[i] - stamps[i - 1]);
    steps.push_back(step);
    if (step > 0 && (smallest == 0 || step < smallest)) smallest = step;
  }
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2),
                   steps.end());
  return {steps[steps.size() / 2], smallest};
}

}  // namespace gdrbench
