// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/recorder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace gdrbench;

namespace {

const Clock kClock = Clock::monotonic();  // a tick is a nanosecond

std::vector<Ticks> repeated(std::size_t n, Ticks value) {
  return std::vector<Ticks>(n, value);
}

}  // namespace

TEST_CASE("no samples, no summary") {
  CHECK_FALSE(Recorder().summary(kClock));
  CHECK_FALSE(RateRecorder().summary(kClock));
  CHECK_FALSE(Recorder().precision());
}

TEST_CASE("one sample has a median and no percentile") {
  Recorder recorder;
  recorder.add(repeated(1, 42));
  const auto summary = recorder.summary(kClock);
  REQUIRE(summary);
  CHECK(summary->n == 1);
  CHECK(summary->p50 == 42);
  CHECK(summary->min == 42);
  CHECK(summary->max == 42);
  CHECK_FALSE(summary->p90);
  CHECK_FALSE(summary->p99);
  CHECK_FALSE(summary->p50Interval);
  CHECK_FALSE(summary->lag1);
}

TEST_CASE("no percentile below its floor") {
  struct Expected {
    std::size_t n;
    bool p90, p99, p999;
  };
  for (const auto& expected : std::initializer_list<Expected>{{9, false, false, false},
                                                              {10, true, false, false},
                                                              {367, true, false, false},
                                                              {368, true, true, false},
                                                              {3687, true, true, false},
                                                              {3688, true, true, true}}) {
    Recorder recorder;
    recorder.add(repeated(expected.n, 5));
    const auto summary = *recorder.summary(kClock);
    CAPTURE(expected.n);
    CHECK(summary.p90.has_value() == expected.p90);
    CHECK(summary.p99.has_value() == expected.p99);
    CHECK(summary.p999.has_value() == expected.p999);
  }
}

TEST_CASE("the worst sample is kept, and the deviation is not truncated") {
  Recorder recorder;
  recorder.add(repeated(999, 1000));
  recorder.add(repeated(1, 10'000'000));
  const auto summary = *recorder.summary(kClock);
  CHECK(summary.max == 10'000'000);
  CHECK(summary.mean == doctest::Approx(10'999));
  CHECK(summary.stddev == doctest::Approx(316'196).epsilon(0.001));
  CHECK(summary.p50 == 1000);
}

TEST_CASE("sub-microsecond spread is not zero") {
  Recorder recorder;
  std::vector<Ticks> samples;
  for (Ticks i = 0; i < 1000; ++i) samples.push_back(500 + i % 2 * 100);
  recorder.add(samples);
  CHECK(recorder.summary(kClock)->stddev == doctest::Approx(50).epsilon(0.01));
}

TEST_CASE("more samples than are kept: counts go on, percentiles from the histogram") {
  Recorder recorder;
  const auto block = repeated(1u << 16, 1000);
  const std::size_t blocks = Recorder::kRawCapacity / block.size();
  for (std::size_t i = 0; i < blocks; ++i) recorder.add(block);
  CHECK(recorder.summary(kClock)->resolution == 0);
  for (std::size_t i = 0; i < 3 * blocks; ++i) recorder.add(repeated(block.size(), 3000));
  CHECK(recorder.raw().size() == Recorder::kRawCapacity);
  CHECK(recorder.count() == 4 * Recorder::kRawCapacity);
  const auto summary = *recorder.summary(kClock);
  CHECK(summary.n == 4 * Recorder::kRawCapacity);
  CHECK(summary.resolution > 0);
  CHECK(summary.p50 == doctest::Approx(3000).epsilon(Histogram::kRelativeError));
  CHECK(summary.mean == doctest::Approx(2500));
  CHECK(summary.blockMedians.size() <= 64);
}

TEST_CASE("the histogram is exact for small values and within its error for large ones") {
  for (const std::uint64_t value :
       {0ull, 1ull, 255ull, 256ull, 257ull, 1000ull, 123456789ull, ~0ull >> 1}) {
    Histogram histogram;
    histogram.add(value, 10);
    CAPTURE(value);
    CHECK(histogram.min() == value);
    CHECK(histogram.max() == value);
    CHECK(histogram.percentile(0.5) == value);  // clamped to what was seen
  }
  Histogram histogram;
  for (std::uint64_t v = 1; v <= 100'000; ++v) histogram.add(v);
  for (const double q : {0.01, 0.5, 0.9, 0.999}) {
    CHECK(static_cast<double>(histogram.percentile(q)) ==
          doctest::Approx(q * 100'000).epsilon(Histogram::kRelativeError));
  }
}

TEST_CASE("long runs overflow nothing") {
  Histogram histogram;
  histogram.add(1'000'000'000, 100'000'000'000);
  histogram.add(216'000'000'000'000, 1);  // one of 60 hours
  CHECK(histogram.count() == 100'000'000'001);
  CHECK(histogram.mean() == doctest::Approx(1e9).epsilon(1e-3));
  CHECK(std::isfinite(histogram.stddev()));
  CHECK(histogram.stddev() > 0);
  CHECK(histogram.percentile(0.5) == doctest::Approx(1e9).epsilon(0.01));
  CHECK(histogram.max() == 216'000'000'000'000);
}

TEST_CASE("merged histograms are one") {
  Histogram a, b, both;
  for (std::uint64_t v = 1; v < 1000; ++v) {
    (v % 2 == 0 ? a : b).add(v * v);
    both.add(v * v);
  }
  a.merge(b);
  CHECK(a.count() == both.count());
  CHECK(a.percentile(0.99) == both.percentile(0.99));
  CHECK(a.mean() == doctest::Approx(both.mean()));
  CHECK(a.stddev() == doctest::Approx(both.stddev()));
}

TEST_CASE("a rate is all bytes over all time") {
  RateRecorder recorder;
  recorder.add(1024, 1u << 30, 1'000'000'000);
  const auto summary = recorder.summary(kClock);
  REQUIRE(summary);
  CHECK(summary->bytesPerSecond == doctest::Approx(1073741824.0));
  CHECK(summary->messagesPerSecond == doctest::Approx(1024));
  CHECK(summary->seconds == doctest::Approx(1));
  CHECK_FALSE(summary->p50Interval);

  recorder.add(1024, 1u << 30, 3'000'000'000);
  const auto slower = *recorder.summary(kClock);
  // Not the mean of the two rates.
  CHECK(slower.bytesPerSecond == doctest::Approx(2 * 1073741824.0 / 4));
  CHECK(slower.minBlock == doctest::Approx(1073741824.0 / 3));
}

TEST_CASE("the sum of samples is the total, however many blocks") {
  RateRecorder recorder;
  for (int i = 0; i < 20'000; ++i) recorder.add(10, 640, 1000);
  const auto summary = *recorder.summary(kClock);
  CHECK(summary.messages == 200'000);
  CHECK(summary.bytes == 12'800'000);
  CHECK(summary.seconds == doctest::Approx(0.02));
  for (const double rate : summary.blockRates) CHECK(rate == doctest::Approx(640e6));
  REQUIRE(recorder.precision());
  CHECK(*recorder.precision() == doctest::Approx(0));
}

TEST_CASE("a thinned series keeps the order and gives every part the same weight") {
  for (const std::size_t n : {1u, 7u, 8u, 9u, 16u, 17u, 1000u, 4096u}) {
    ThinnedSeries<double> series(8);
    for (std::size_t i = 0; i < n; ++i) series.add(static_cast<double>(i));
    const auto stride = static_cast<double>(series.stride());
    const auto entries = series.entries();
    CAPTURE(n);
    CHECK(entries.size() <= 8);
    CHECK(entries.size() == n / series.stride());
    for (std::size_t k = 0; k < entries.size(); ++k) {
      // The mean of k * stride .. (k + 1) * stride - 1.
      CHECK(entries[k] / stride == static_cast<double>(k) * stride + (stride - 1) / 2);
    }
  }
}

TEST_CASE("each part of a long run has its share of the blocks, the last no more than the first") {
  Recorder recorder;
  constexpr Ticks kParts = 8;
  for (Ticks part = 0; part < kParts; ++part) {
    const auto block = repeated(1u << 15, 1000 + 100 * part);
    for (std::size_t i = 0; i < Recorder::kRawCapacity / block.size(); ++i) recorder.add(block);
  }
  const auto summary = *recorder.summary(kClock);
  REQUIRE(summary.blockMedians.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(summary.blockMedians[i] == static_cast<double>(1000 + 100 * (i / 8)));
  }
  CHECK(summary.drift);
  CHECK(summary.mad == 0);  // of the raw samples, all of the first part
}

TEST_CASE("sizes of the pieces that samples come in do not matter") {
  Recorder whole, pieces;
  std::vector<Ticks> samples(Recorder::kRawCapacity + 100'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 1000 + i * 7919 % 101;
  whole.add(samples);
  for (std::size_t from = 0; from < samples.size(); from += 4099) {
    pieces.add(
        std::span(samples).subspan(from, std::min<std::size_t>(4099, samples.size() - from)));
  }
  CHECK(*whole.summary(kClock) == *pieces.summary(kClock));
  REQUIRE(whole.precision());
  CHECK(*whole.precision() == *pieces.precision());
}

TEST_CASE("a slow end does not stand for a long stream, and a single slow block is not hidden") {
  RateRecorder recorder;
  constexpr int kBlocks = 100'000;
  for (int i = 0; i < kBlocks; ++i) {
    const Ticks elapsed = i == 10 ? 100'000 : i < kBlocks * 95 / 100 ? 1000 : 2000;
    recorder.add(1, 1000, elapsed);
  }
  const auto summary = *recorder.summary(kClock);
  CHECK(summary.p50Block == doctest::Approx(1e9));
  CHECK(summary.minBlock == doctest::Approx(1e7));
  CHECK(summary.bytes == 100'000'000);
  REQUIRE(summary.p50Interval);
  CHECK(summary.p50Interval->low == doctest::Approx(1e9));
  const auto slow = std::count_if(summary.blockRates.begin(), summary.blockRates.end(),
                                  [](double rate) { return rate < 0.6e9; });
  CHECK(slow >= 2);
  CHECK(slow <= 5);  // 5 % of 64
}

TEST_CASE("the precision is that of the interval of the median") {
  Recorder recorder;
  std::vector<Ticks> samples;
  for (Ticks block = 0; block < 20; ++block) {
    samples.insert(samples.end(), 10, 1000 + block);
  }
  recorder.add(samples);
  const auto summary = *recorder.summary(kClock);
  REQUIRE(summary.p50Interval);
  CHECK(summary.p50Interval->low == 1005);
  CHECK(summary.p50Interval->high == 1014);
  CHECK(*recorder.precision() == doctest::Approx(4.5 / 1009.5));

  Recorder few;
  few.add(std::span(samples).first(5));
  CHECK_FALSE(few.precision());
}
