// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/measure/recorder.h"

namespace gdrbench {
namespace {

constexpr std::uint64_t kExact = 256;
constexpr int kExactBits = 8;
constexpr int kSubBits = 7;  // 128 buckets for each power of two

/// Values below 256 have a bucket each; above, the seven bits after the leading one choose it.
std::size_t bucketOf(std::uint64_t value) {
  if (value < kExact) return static_cast<std::size_t>(value);
  const int exponent = static_cast<int>(std::bit_width(value)) - 1;
  const std::uint64_t sub = (value >> (exponent - kSubBits)) & ((1u << kSubBits) - 1);
  return static_cast<std::size_t>(kExact) +
         (static_cast<std::size_t>(exponent - kExactBits) << kSubBits) +
         static_cast<std::size_t>(sub);
}

std::uint64_t middleOfBucket(std::size_t bucket) {
  if (bucket < kExact) return bucket;
  const std::size_t above = bucket - static_cast<std::size_t>(kExact);
  const int exponent = static_cast<int>(above >> kSubBits) + kExactBits;
  const std::uint64_t sub = above & ((1u << kSubBits) - 1);
  const std::uint64_t low = ((std::uint64_t{1} << kSubBits) | sub) << (exponent - kSubBits);
  return low + (std::uint64_t{1} << (exponent - kSubBits)) / 2;
}

}  // namespace

void Histogram::add(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  const std::size_t bucket = bucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket] += times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  // Welford, for `times` equal values at once.
  const long double before = static_cast<long double>(count_);
  const long double n = static_cast<long double>(times);
  count_ += times;
  const long double delta = static_cast<long double>(value) - mean_;
  mean_ += delta * n / (before + n);
  squares_ += delta * delta * before * n / (before + n);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  const long double a = static_cast<long double>(count_);
  const long double b = static_cast<long double>(other.count_);
  const long double delta = other.mean_ - mean_;
  mean_ += delta * b / (a + b);
  squares_ += other.squares_ + delta * delta * a * b / (a + b);
  count_ += other.count_;
}

std::uint64_t Histogram::percentile(double q) const {
  const auto rank = static_cast<std::uint64_t>(std::max(
      1.0L,
      std::ceil(static_cast<long double>(q) * static_cast<long double>(count_) * (1 - 1e-12L))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(middleOfBucket(i), min_, max_);
  }
  return max_;
}

double Histogram::mean() const {
  return static_cast<double>(mean_);
}

double Histogram::stddev() const {
  return count_ < 2
             ? 0
             : static_cast<double>(std::sqrt(squares_ / (static_cast<long double>(count_) - 1)));
}

}  // namespace gdrbench
