// SPDX-License-Identifier: Apache-2.0
// Keeps the samples of one run. Used between blocks only: the timed loop writes into a small array
// of its own. The first kRawCapacity samples are kept raw (8 bytes each); when more come,
// all are counted in a histogram with a relative error of at most 2^-7 and the raw ones stay the
// record of the beginning. Memory is bounded by kRawCapacity * 8 bytes + 64 KiB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/summary.h"

namespace gdrbench {

/// Log-linear histogram of unsigned integers: exact below 256, then 128 buckets for each power of
/// two. Mergeable; counts are 64 bits.
class Histogram {
 public:
  static constexpr double kRelativeError = 1.0 / 128;
  void add(std::uint64_t value, std::uint64_t times = 1);
  void merge(const Histogram& other);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Middle of the bucket that holds the nearest-rank percentile. Only when count() > 0.
  [[nodiscard]] std::uint64_t percentile(double q) const;
  [[nodiscard]] std::uint64_t min() const { return min_; }  ///< exact
  [[nodiscard]] std::uint64_t max() const { return max_; }  ///< exact
  [[nodiscard]] double mean() const;                        ///< exact, accumulated in long double
  [[nodiscard]] double stddev() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0, min_ = ~std::uint64_t{0}, max_ = 0;
  long double mean_ = 0, squares_ = 0;  // Welford
};

class Recorder {
 public:
  static constexpr std::size_t kRawCapacity = 1u << 20;

  /// Samples of one block, in time order.
  void add(std::span<const Ticks> samples);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// At most kRawCapacity, from the start of the run.
  [[nodiscard]] std::span<const Ticks> raw() const { return raw_; }

  /// Absent without samples. `clock` turns ticks into nanoseconds.
  [[nodiscard]] std::optional<LatencySummary> summary(const Clock& clock) const;

  /// Relative half width of the interval of the median; absent while there are too few blocks.
  [[nodiscard]] std::optional<double> precision() const;

 private:
  std::vector<Ticks> raw_;
  std::optional<Histogram> histogram_;
  /// Block medians of everything, in time order, at most 64.
  [[nodiscard]] std::vector<double> blocks(std::span<const double> values) const;

  std::vector<double> addedMedians_;  ///< of what was added beyond the raw capacity, thinned to 64
  std::uint64_t count_ = 0;
};

/// The same for streams: one entry per block.
class RateRecorder {
 public:
  void add(std::uint64_t messages, std::uint64_t bytes, Ticks elapsed);
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::optional<RateSummary> summary(const Clock& clock) const;
  [[nodiscard]] std::optional<double> precision() const;

 private:
  struct BlockRate {
    double bytes;
    double ticks;
  };
  [[nodiscard]] std::vector<double> rates() const;  ///< bytes per tick, in time order

  std::vector<BlockRate> blocks_;  ///< thinned by merging neighbours above 4096
  std::uint64_t messages_ = 0, bytes_ = 0;
  Ticks elapsed_ = 0;
};

}  // namespace gdrbench
