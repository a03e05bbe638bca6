// SPDX-License-Identifier: Apache-2.0
// When a warm-up is over and when a measurement has enough: decisions on numbers, no clock, no
// lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/option.h"

namespace gdrbench {

/// Option tables of `stop:` and `warmup:`.
OptionTable stopOptions();
OptionTable warmupOptions();

struct WarmupRule {
  std::uint64_t minMessages = 1000;
  std::int64_t minTimeNs = 0;
  std::int64_t maxTimeNs = 0;  ///< 0: no warm-up at all
  bool operator==(const WarmupRule&) const = default;
};

struct StopRule {
  std::optional<std::uint64_t> iterations;  ///< exactly so many messages; the rest is then ignored
  double precision = 0.01;
  std::int64_t minTimeNs = 0;
  std::int64_t maxTimeNs = 0;
  bool operator==(const StopRule&) const = default;
};

WarmupRule warmupRule(const OptionSet& options);
StopRule stopRule(const OptionSet& options);

enum class StopReason {
  kPrecision,   ///< the interval of the median is narrow enough, floors and minimum time are met
  kIterations,  ///< as many as were asked for
  kMaxTime,
  kNoiseFloor,  ///< more samples no longer narrow the interval
};
std::string_view name(StopReason reason);

/// Collects medians of warm-up chunks.
class SteadyState {
 public:
  explicit SteadyState(WarmupRule rule) : rule_(rule) {}
  void add(double chunkMedian) { medians_.push_back(chunkMedian); }
  /// The last 8 chunk medians lie within 1 % of each other, without a trend.
  [[nodiscard]] bool steady() const;
  /// Enough messages and time, and steady; or past the cap.
  [[nodiscard]] bool done(std::uint64_t messages, std::int64_t elapsedNs) const;

 private:
  WarmupRule rule_;
  std::vector<double> medians_;
};

/// What has been measured so far.
struct Progress {
  std::uint64_t messages = 0;
  std::int64_t elapsedNs = 0;
  std::uint64_t sampleFloor = 0;    ///< samples wanted for the highest percentile; 0 for streams
  std::optional<double> precision;  ///< Recorder::precision()
};

/// Asked at geometrically growing counts (x1.5), which limits optional stopping.
class StopDecision {
 public:
  explicit StopDecision(StopRule rule) : rule_(rule) {}
  /// Nothing: go on.
  std::optional<StopReason> check(const Progress& progress);

 private:
  StopRule rule_;
  std::vector<double> precisions_;  ///< at earlier checks
};

}  // namespace gdrbench
