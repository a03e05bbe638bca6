// SPDX-License-Identifier: Apache-2.0
// Keeps the samples of one run. Used between blocks only: the timed loop writes into a small array
// of its own. The first kRawCapacity samples are kept raw (8 bytes each); when more come,
// all are counted in a histogram with a relative error of at most 2^-7 and the raw ones stay the
// record of the beginning: MAD, autocorrelation and modes are then theirs. Memory is bounded by
// kRawCapacity * 8 bytes + 256 KiB.
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

/// A bounded record of a long series. When it is full, neighbours are merged, and what comes later
/// is merged alike before it is kept: all entries stand for equally much of the series. What does
/// not fill an entry yet is left out. `Entry` has +=.
template <class Entry>
class ThinnedSeries {
 public:
  explicit ThinnedSeries(std::size_t capacity) : capacity_(capacity) {}

  void add(const Entry& entry) {
    if (partsOfNext_ == 0) {
      next_ = entry;
    } else {
      next_ += entry;
    }
    if (++partsOfNext_ < stride_) return;
    if (entries_.size() == capacity_) return halve();  // and `next_` is half of a longer entry
    entries_.push_back(next_);
    partsOfNext_ = 0;
  }

  /// Sums of stride() added entries each, in time order; at most `capacity`.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] std::uint64_t stride() const { return stride_; }

 private:
  void halve() {
    for (std::size_t i = 0; i < capacity_ / 2; ++i) {
      Entry sum = entries_[2 * i];
      sum += entries_[2 * i + 1];
      entries_[i] = sum;
    }
    entries_.resize(capacity_ / 2);
    stride_ *= 2;
  }

  std::size_t capacity_;  // even
  std::vector<Entry> entries_;
  std::uint64_t stride_ = 1;
  Entry next_{};
  std::uint64_t partsOfNext_ = 0;
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
  static constexpr std::size_t kMostBlocks = 64;
  /// Beyond the raw capacity a block is as long as the raw ones were when they filled it.
  static constexpr std::size_t kLongBlock = kRawCapacity / kMostBlocks;

  void startLongRun();
  void addToLongRun(std::span<const Ticks> samples);
  /// Block medians of everything, in time order, at most 64, all of equally many samples.
  [[nodiscard]] std::vector<double> blocks(std::span<const double> values) const;

  std::vector<Ticks> raw_;
  std::uint64_t count_ = 0;
  std::optional<Histogram> histogram_;  ///< of all samples, once there are more than raw ones
  std::vector<double> longBlock_;       ///< samples of the block that is not complete
  ThinnedSeries<double> longMedians_{kMostBlocks};
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
    double bytes = 0;
    double ticks = 0;
    BlockRate& operator+=(const BlockRate& other) {
      bytes += other.bytes;
      ticks += other.ticks;
      return *this;
    }
    [[nodiscard]] double rate() const { return bytes / ticks; }
  };
  [[nodiscard]] std::vector<double> rates() const;  ///< bytes per tick, in time order

  ThinnedSeries<BlockRate> blocks_{4096};
  std::optional<double> slowest_;  ///< bytes per tick of single blocks: thinning would hide it
  std::uint64_t messages_ = 0, bytes_ = 0;
  Ticks elapsed_ = 0;
};

}  // namespace gdrbench
