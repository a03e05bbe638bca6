// SPDX-License-Identifier: Apache-2.0
// Order statistics and tests on plain numbers. Sources of the formulas: rank intervals and floors
// from the binomial distribution; Mann-Kendall trend test (normal approximation with continuity
// correction); bootstrap over runs, then blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/summary.h"

namespace gdrbench {

/// Median of a non-empty set; the mean of the middle two when the count is even. Does not need
/// sorted input and leaves it alone.
double median(std::span<const double> values);

/// Nearest-rank percentile (smallest value with at least q*n values at or below it) of a sorted,
/// non-empty set; q in (0, 1].
double percentileSorted(std::span<const double> sorted, double q);

/// 95 % interval of the median by ranks of independent values; absent below 6 values.
std::optional<Interval> medianInterval(std::span<const double> values);

/// Medians of `blocks` contiguous, equally long pieces (the remainder goes to the last ones, one
/// each); fewer pieces when there are fewer values.
std::vector<double> blockMedians(std::span<const double> values, std::size_t blocks);

/// Two-sided p of a monotone trend. 1 below 4 values.
double mannKendall(std::span<const double> values);

std::optional<double> lag1Autocorrelation(std::span<const double> values);

/// Medians of the first and the last third differ by more than 2 %, and by more than three times
/// the spread (MAD) of the blocks around the median of their third; and there is a trend
/// (mannKendall below 5 %). Needs 9 values.
bool drifts(std::span<const double> blockMedians);

/// Centres of two separate peaks, each with at least 10 % of the values, with a valley between
/// them of less than half the smaller peak by more than chance (few values may hide a peak); absent
/// when there is one. The steps of a clock are no peaks. Needs 100 values.
std::optional<std::array<double, 2>> twoModes(std::span<const double> values);

/// One run of one row: its block medians or block rates.
using RunBlocks = std::vector<double>;

struct Ratio {
  double value = 0;                  ///< median of run medians over median of base run medians
  std::optional<Interval> interval;  ///< absent when either side has fewer than 2 runs
};

/// candidate over base by hierarchical bootstrap: resample runs, then blocks within a run; 2,000
/// resamples, a fixed seed (the same input gives the same interval). Both sides non-empty.
Ratio ratioOf(std::span<const RunBlocks> candidate, std::span<const RunBlocks> base,
              double confidence = 0.95);

/// Median over runs of run medians, with a bootstrap interval as above.
Ratio levelOf(std::span<const RunBlocks> runs, double confidence = 0.95);

}  // namespace gdrbench
