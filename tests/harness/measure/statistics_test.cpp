// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace gdrbench;

namespace {

std::vector<double> counting(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

}  // namespace

TEST_CASE("median of odd and even counts, in any order") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK(median(std::vector<double>{7}) == 7);
}

TEST_CASE("nearest-rank percentiles") {
  const auto values = counting(1000);
  CHECK(percentileSorted(values, 0.5) == 500);
  CHECK(percentileSorted(values, 0.99) == 990);
  CHECK(percentileSorted(values, 0.999) == 999);
  CHECK(percentileSorted(values, 1.0) == 1000);
  CHECK(percentileSorted(std::vector<double>{5}, 0.001) == 5);
}

TEST_CASE("rank intervals of the median are those of the binomial distribution") {
  CHECK_FALSE(medianInterval(counting(5)));
  const auto six = medianInterval(counting(6));
  REQUIRE(six);
  CHECK(six->low == 1);
  CHECK(six->high == 6);
  const auto ten = medianInterval(counting(10));
  CHECK(ten->low == 2);
  CHECK(ten->high == 9);
  const auto twenty = medianInterval(counting(20));
  CHECK(twenty->low == 6);
  CHECK(twenty->high == 15);
}

TEST_CASE("block medians use every value once") {
  CHECK(blockMedians(counting(10), 3) == std::vector<double>{2, 5, 8.5});
  CHECK(blockMedians(counting(2), 5) == std::vector<double>{1, 2});
  CHECK(blockMedians({}, 5).empty());
}

TEST_CASE("a trend is seen, noise is not") {
  CHECK(mannKendall(counting(8)) < 0.05);
  CHECK(mannKendall(std::vector<double>{5, 5, 5, 5, 5}) == 1);
  CHECK(mannKendall(std::vector<double>{1, 3, 2, 4, 1, 3, 2, 4}) > 0.05);
  CHECK(mannKendall(counting(3)) == 1);
}

TEST_CASE("autocorrelation") {
  std::vector<double> alternating, slow;
  for (int i = 0; i < 1000; ++i) {
    alternating.push_back(i % 2);
    slow.push_back(std::sin(i / 100.0));
  }
  CHECK(*lag1Autocorrelation(alternating) < -0.9);
  CHECK(*lag1Autocorrelation(slow) > 0.9);
  CHECK_FALSE(lag1Autocorrelation(std::vector<double>{1, 1, 1, 1}));
  CHECK_FALSE(lag1Autocorrelation(std::vector<double>{1, 2}));
}

TEST_CASE("drift needs a change that is large and larger than the spread") {
  CHECK(drifts(counting(30)));
  std::vector<double> flat(30, 100.0);
  CHECK_FALSE(drifts(flat));
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] += i % 2 == 0 ? 20 : -20;
  CHECK_FALSE(drifts(flat));
  CHECK_FALSE(drifts(counting(8)));
}

TEST_CASE("drift is seen as a ramp and as a step, and not in noise") {
  std::mt19937_64 random(13);
  std::normal_distribution<double> noise(0, 1);
  constexpr int kTrials = 200;
  for (const std::size_t n : {9u, 20u, 64u}) {
    int noisy = 0, ramps = 0, steps = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> still, ramp, step;
      for (std::size_t i = 0; i < n; ++i) {
        const double value = 100 + noise(random);
        still.push_back(value);
        ramp.push_back(value + 20.0 * static_cast<double>(i) / static_cast<double>(n));
        step.push_back(value + (i < n / 2 ? 0 : 20));
      }
      noisy += drifts(still) ? 1 : 0;
      ramps += drifts(ramp) ? 1 : 0;
      steps += drifts(step) ? 1 : 0;
    }
    CAPTURE(n);
    CHECK(noisy <= kTrials / 20);
    CHECK(ramps >= kTrials * 9 / 10);
    CHECK(steps >= kTrials * (n == 9 ? 4 : 9) / 10);
  }
  // A step of a fifth without noise, in the middle: the case that hides in its own spread.
  std::vector<double> step(60, 100.0);
  std::fill(step.begin() + 30, step.end(), 120.0);
  CHECK(drifts(step));
}

TEST_CASE("two peaks are found, one is not split") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> fast(100, 3), slow(200, 5);
  std::vector<double> one, two;
  for (int i = 0; i < 5000; ++i) {
    one.push_back(fast(random));
    two.push_back(i % 3 == 0 ? slow(random) : fast(random));
  }
  CHECK_FALSE(twoModes(one));
  const auto modes = twoModes(two);
  REQUIRE(modes);
  CHECK((*modes)[0] == doctest::Approx(100).epsilon(0.1));
  CHECK((*modes)[1] == doctest::Approx(200).epsilon(0.1));
  CHECK_FALSE(twoModes(counting(99)));
}

TEST_CASE("one peak is one peak, however few the values and however coarse the clock") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(250, 15);
  std::exponential_distribution<double> tail(1.0 / 40);
  std::uniform_real_distribution<double> flat(200, 300);
  int seen = 0;
  int rows = 0;
  for (const int n : {100, 200, 500, 5000}) {
    for (const double step : {0.0, 1.0, 10.0}) {
      for (int trial = 0; trial < 10; ++trial) {
        std::vector<double> shapes[3];
        for (int i = 0; i < n; ++i) {
          const double drawn[] = {normal(random), 200 + tail(random), flat(random)};
          for (int shape = 0; shape < 3; ++shape) {
            const double value = drawn[shape];
            shapes[shape].push_back(step > 0 ? std::round(value / step) * step : value);
          }
        }
        for (const auto& values : shapes) seen += twoModes(values) ? 1 : 0;
        rows += 3;
      }
    }
  }
  CHECK(rows == 360);
  CHECK(seen <= rows / 50);
}

TEST_CASE("two peaks are found through the steps of a clock, and far apart") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> fast(250, 15), slow(400, 15), far(50'000, 2000);
  std::vector<double> stepped, apart;
  for (int i = 0; i < 2000; ++i) {
    stepped.push_back(std::round((i % 3 == 0 ? slow(random) : fast(random)) / 10) * 10);
    apart.push_back(i % 4 == 0 ? far(random) : fast(random));
  }
  const auto near = twoModes(stepped);
  REQUIRE(near);
  CHECK((*near)[0] == doctest::Approx(250).epsilon(0.1));
  CHECK((*near)[1] == doctest::Approx(400).epsilon(0.1));
  const auto wide = twoModes(apart);
  REQUIRE(wide);
  CHECK((*wide)[1] == doctest::Approx(50'000).epsilon(0.1));
}

TEST_CASE("a ratio of runs has an interval from two runs each, and is repeatable") {
  const std::vector<RunBlocks> base = {{10, 10, 10}, {10, 10, 10}};
  const std::vector<RunBlocks> twice = {{20, 20, 20}, {20, 20}};
  const Ratio ratio = ratioOf(twice, base);
  CHECK(ratio.value == 2);
  REQUIRE(ratio.interval);
  CHECK(ratio.interval->low == 2);
  CHECK(ratio.interval->high == 2);
  CHECK_FALSE(ratioOf(std::span(twice).first(1), base).interval);

  const std::vector<RunBlocks> spread = {{9, 10, 11}, {10, 11, 12}, {8, 9, 10}};
  CHECK(*ratioOf(spread, base).interval == *ratioOf(spread, base).interval);
  const auto interval = *ratioOf(spread, base).interval;
  CHECK(interval.low < 1.0);
  CHECK(interval.high > 1.0);
}

TEST_CASE("the spread between runs widens the interval, the number of samples does not hide it") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  const auto runs = [&](std::vector<double> levels) {
    std::vector<RunBlocks> all;
    for (const double level : levels) {
      RunBlocks blocks;
      for (int i = 0; i < 60; ++i) blocks.push_back(level + noise(random));
      all.push_back(blocks);
    }
    return all;
  };
  const auto steady = *levelOf(runs({100, 100, 100})).interval;
  const auto shifting = *levelOf(runs({98, 100, 102})).interval;
  CHECK(steady.high - steady.low < 0.2);
  CHECK(shifting.high - shifting.low > 2);
}

TEST_CASE("no difference is inside the interval at about the stated confidence") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> between(0, 1), within(0, 3);
  int covered = 0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto draw = [&] {
      std::vector<RunBlocks> runs(5);
      for (RunBlocks& run : runs) {
        const double level = 100 + between(random);
        for (int i = 0; i < 20; ++i) run.push_back(level + within(random));
      }
      return runs;
    };
    const auto interval = *ratioOf(draw(), draw()).interval;
    covered += interval.low <= 1 && interval.high >= 1 ? 1 : 0;
  }
  CHECK(covered >= kTrials * 8 / 10);
}
