// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/recorder.h"

#include <algorithm>
#include <cmath>

#include "harness/measure/statistics.h"

namespace gdrbench {
namespace {

constexpr std::size_t kMostRates = 64;
constexpr std::size_t kFewestBlocks = 6;
constexpr std::uint64_t kFloorP90 = 10;
constexpr std::uint64_t kFloorP99 = 368;
constexpr std::uint64_t kFloorP999 = 3688;

/// Blocks long enough that neighbours do not matter, and as many as an interval needs.
std::size_t blocksFor(std::size_t samples, std::size_t most) {
  constexpr std::size_t kShortestBlock = 10;
  return std::clamp(samples / kShortestBlock, kFewestBlocks, most);
}

std::vector<double> toDoubles(std::span<const Ticks> samples) {
  return {samples.begin(), samples.end()};
}

double medianDistance(std::span<const double> values, double middle) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median(distances);
}

std::optional<double> relativeHalfWidth(std::span<const double> blocks) {
  const auto interval = medianInterval(blocks);
  const double middle = blocks.empty() ? 0 : median(blocks);
  if (!interval || !(middle > 0)) return {};
  return (interval->high - interval->low) / 2 / middle;
}

/// What is taken from a histogram when not all samples are kept, and from all samples otherwise.
void fillOrder(LatencySummary& summary, const std::vector<double>& values,
               const std::optional<Histogram>& all) {
  Histogram moments;
  if (!all) {
    for (const double value : values) moments.add(static_cast<std::uint64_t>(value));
  }
  const Histogram& whole = all ? *all : moments;
  summary.n = whole.count();
  summary.min = static_cast<double>(whole.min());
  summary.max = static_cast<double>(whole.max());
  summary.mean = whole.mean();
  summary.stddev = whole.stddev();

  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto percentile = [&](double q) {
    return all ? static_cast<double>(all->percentile(q)) : percentileSorted(sorted, q);
  };
  summary.p50 = all ? percentile(0.5) : median(sorted);
  if (summary.n >= kFloorP90) summary.p90 = percentile(0.9);
  if (summary.n >= kFloorP99) summary.p99 = percentile(0.99);
  if (summary.n >= kFloorP999) summary.p999 = percentile(0.999);
  summary.resolution = all ? Histogram::kRelativeError : 0;
}

void scale(LatencySummary& summary, double factor) {
  for (double* value :
       {&summary.min, &summary.p50, &summary.mean, &summary.stddev, &summary.mad, &summary.max}) {
    *value *= factor;
  }
  for (auto* value : {&summary.p90, &summary.p99, &summary.p999}) {
    if (*value) **value *= factor;
  }
  if (summary.p50Interval) {
    summary.p50Interval->low *= factor;
    summary.p50Interval->high *= factor;
  }
  if (summary.modes) {
    for (double& mode : *summary.modes) mode *= factor;
  }
  for (double& block : summary.blockMedians) block *= factor;
}

}  // namespace

void Recorder::add(std::span<const Ticks> samples) {
  count_ += samples.size();
  const std::size_t room = std::min(samples.size(), kRawCapacity - raw_.size());
  raw_.insert(raw_.end(), samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(room));
  const std::span<const Ticks> rest = samples.subspan(room);
  if (rest.empty()) return;
  if (!histogram_) startLongRun();
  addToLongRun(rest);
}

void Recorder::startLongRun() {
  histogram_.emplace();
  for (const Ticks sample : raw_) histogram_->add(sample);
  for (const double block : blockMedians(toDoubles(raw_), kMostBlocks)) longMedians_.add(block);
}

void Recorder::addToLongRun(std::span<const Ticks> samples) {
  for (const Ticks sample : samples) {
    histogram_->add(sample);
    longBlock_.push_back(static_cast<double>(sample));
    if (longBlock_.size() < kLongBlock) continue;
    longMedians_.add(median(longBlock_));
    longBlock_.clear();
  }
}

std::optional<LatencySummary> Recorder::summary(const Clock& clock) const {
  if (count_ == 0) return {};
  const std::vector<double> values = toDoubles(raw_);
  LatencySummary summary;
  fillOrder(summary, values, histogram_);
  summary.mad = medianDistance(values, median(values));
  summary.blockMedians = blocks(values);
  summary.p50Interval = medianInterval(summary.blockMedians);
  summary.lag1 = lag1Autocorrelation(values);
  summary.drift = drifts(summary.blockMedians);
  summary.modes = twoModes(values);
  scale(summary, clock.nanoseconds(1));
  return summary;
}

std::vector<double> Recorder::blocks(std::span<const double> values) const {
  if (!histogram_) return blockMedians(values, blocksFor(values.size(), kMostBlocks));
  std::vector<double> means;
  for (const double sum : longMedians_.entries()) {
    means.push_back(sum / static_cast<double>(longMedians_.stride()));
  }
  return means;
}

std::optional<double> Recorder::precision() const {
  if (raw_.empty()) return {};
  return relativeHalfWidth(histogram_ ? blocks({}) : blocks(toDoubles(raw_)));
}

void RateRecorder::add(std::uint64_t messages, std::uint64_t bytes, Ticks elapsed) {
  messages_ += messages;
  bytes_ += bytes;
  elapsed_ += elapsed;
  const BlockRate block{static_cast<double>(bytes),
                        static_cast<double>(std::max<Ticks>(elapsed, 1))};
  blocks_.add(block);
  slowest_ = std::min(slowest_.value_or(block.rate()), block.rate());
}

std::vector<double> RateRecorder::rates() const {
  std::vector<double> rates;
  rates.reserve(blocks_.entries().size());
  for (const BlockRate& block : blocks_.entries()) rates.push_back(block.rate());
  return rates;
}

std::optional<RateSummary> RateRecorder::summary(const Clock& clock) const {
  if (elapsed_ == 0 || messages_ == 0) return {};
  const double perSecond = 1e9 / clock.nanoseconds(1);  // ticks of one second
  RateSummary summary;
  summary.messages = messages_;
  summary.bytes = bytes_;
  summary.seconds = clock.nanoseconds(elapsed_) / 1e9;
  summary.bytesPerSecond = static_cast<double>(bytes_) / summary.seconds;
  summary.messagesPerSecond = static_cast<double>(messages_) / summary.seconds;
  std::vector<double> all = rates();
  for (double& rate : all) rate *= perSecond;
  summary.minBlock = *slowest_ * perSecond;
  summary.p50Block = median(all);
  summary.blockRates = blockMedians(all, kMostRates);
  summary.p50Interval = medianInterval(summary.blockRates);
  summary.drift = drifts(summary.blockRates);
  return summary;
}

std::optional<double> RateRecorder::precision() const {
  return relativeHalfWidth(blockMedians(rates(), kMostRates));
}

}  // namespace gdrbench
