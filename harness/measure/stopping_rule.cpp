// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/stopping_rule.h"

#include <algorithm>

#include "harness/measure/statistics.h"

namespace gdrbench {
namespace {

constexpr std::size_t kSteadyChunks = 8;
constexpr double kSteadyWithin = 0.01;
constexpr double kTrend = 0.05;
constexpr std::size_t kChecksWithoutGain = 4;
constexpr double kGain = 0.05;

constexpr Option kStopOptions[] = {
    {.name = "precision",
     .type = OptionType::kPercent,
     .fallback = "1%",
     .min = 0.0001,
     .max = 0.5,
     .help =
         "half width of the 95 % interval of the median, relative to it, at which a measurement "
         "is good enough"},
    {.name = "min_time",
     .type = OptionType::kDuration,
     .fallback = "500ms",
     .min = 0,
     .max = 86400e9,
     .help = "measure at least so long"},
    {.name = "max_time",
     .type = OptionType::kDuration,
     .fallback = "5s",
     .min = 1e6,
     .max = 86400e9,
     .help = "measure at most so long; a row that stops here is marked as imprecise"},
    {.name = "iterations",
     .type = OptionType::kInteger,
     .min = 1,
     .max = 9007199254740992.0,
     .help =
         "exactly so many messages instead; the other rules are then ignored, the timeout is not"},
};

constexpr Option kWarmupOptions[] = {
    {.name = "messages",
     .type = OptionType::kInteger,
     .fallback = "1000",
     .min = 0,
     .max = 1e12,
     .help = "at least so many messages are not measured"},
    {.name = "min_time",
     .type = OptionType::kDuration,
     .fallback = "100ms",
     .min = 0,
     .max = 3600e9,
     .help = "warm up at least so long"},
    {.name = "max_time",
     .type = OptionType::kDuration,
     .fallback = "2s",
     .min = 0,
     .max = 3600e9,
     .help = "warm up at most so long, then measure and mark the row as not steady; 0: no warm-up "
             "at all, the cold first message is measured"},
};

}  // namespace

OptionTable stopOptions() {
  return kStopOptions;
}
OptionTable warmupOptions() {
  return kWarmupOptions;
}

WarmupRule warmupRule(const OptionSet& options) {
  return {static_cast<std::uint64_t>(options.integer("messages")), options.integer("min_time"),
          options.integer("max_time")};
}

StopRule stopRule(const OptionSet& options) {
  StopRule rule{.precision = options.number("precision"),
                .minTimeNs = options.integer("min_time"),
                .maxTimeNs = options.integer("max_time")};
  if (options.has("iterations")) {
    rule.iterations = static_cast<std::uint64_t>(options.integer("iterations"));
  }
  return rule;
}

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kPrecision:
      return "precision";
    case StopReason::kIterations:
      return "iterations";
    case StopReason::kMaxTime:
      return "max_time";
    case StopReason::kNoiseFloor:
      break;
  }
  return "noise_floor";
}

bool SteadyState::steady() const {
  if (medians_.size() < kSteadyChunks) return false;
  const std::span<const double> last = std::span(medians_).last(kSteadyChunks);
  const auto [low, high] = std::minmax_element(last.begin(), last.end());
  return *high - *low <= kSteadyWithin * median(last) && mannKendall(last) > kTrend;
}

bool SteadyState::done(std::uint64_t messages, std::int64_t elapsedNs) const {
  if (elapsedNs >= rule_.maxTimeNs) return true;
  return messages >= rule_.minMessages && elapsedNs >= rule_.minTimeNs && steady();
}

std::optional<StopReason> StopDecision::check(const Progress& progress) {
  if (rule_.iterations) {
    if (progress.messages >= *rule_.iterations) return StopReason::kIterations;
    return {};
  }
  const bool enough =
      progress.messages >= progress.sampleFloor && progress.elapsedNs >= rule_.minTimeNs;
  if (enough && progress.precision && *progress.precision <= rule_.precision) {
    return StopReason::kPrecision;
  }
  if (progress.elapsedNs >= rule_.maxTimeNs) return StopReason::kMaxTime;
  if (!enough || !progress.precision) return {};
  precisions_.push_back(*progress.precision);
  if (precisions_.size() <= kChecksWithoutGain) return {};
  const double before = precisions_[precisions_.size() - 1 - kChecksWithoutGain];
  if (*progress.precision > (1 - kGain) * before) return StopReason::kNoiseFloor;
  return {};
}

}  // namespace gdrbench
