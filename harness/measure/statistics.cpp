// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gdrbench {
namespace {

double medianInPlace(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// P(X <= k) for X ~ Binomial(n, 1/2), summed from the smallest terms in logarithms.
double binomialHalfCdf(std::size_t n, std::size_t k) {
  double sum = 0;
  const double total = static_cast<double>(n);
  for (std::size_t i = 0; i <= k; ++i) {
    const double x = static_cast<double>(i);
    sum += std::exp(std::lgamma(total + 1) - std::lgamma(x + 1) - std::lgamma(total - x + 1) -
                    total * std::log(2.0));
  }
  return sum;
}

/// A value and how often it came.
struct Level {
  double value;
  double count;
};

std::vector<Level> levelsOf(std::span<const double> sorted) {
  std::vector<Level> levels;
  for (const double value : sorted) {
    if (levels.empty() || levels.back().value != value) levels.push_back({value, 0});
    levels.back().count += 1;
  }
  return levels;
}

/// The distance that most values have to the next one: the step of a clock that counts in steps,
/// and next to nothing for a continuous quantity. A rare wide gap, as between two peaks, is above.
double stepOf(std::span<const Level> levels) {
  constexpr double kMost = 0.75;
  std::vector<Level> gaps;  // and how many values lie on the emptier side
  double total = 0;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const double weight = std::min(levels[i - 1].count, levels[i].count);
    gaps.push_back({levels[i].value - levels[i - 1].value, weight});
    total += weight;
  }
  std::sort(gaps.begin(), gaps.end(), [](auto& a, auto& b) { return a.value < b.value; });
  double seen = 0;
  for (const Level& gap : gaps) {
    seen += gap.count;
    if (seen >= kMost * total) return gap.value;
  }
  return 0;
}

using Bins = std::vector<double>;

/// A histogram of [low, high]. Each level is spread over the step that the clock took it from: bins
/// narrower than the steps would otherwise be empty in turn, and look like many peaks.
Bins binned(std::span<const double> sorted, double low, double high) {
  const std::size_t count = std::clamp<std::size_t>(sorted.size() / 20, 10, 32);
  const double width = (high - low) / static_cast<double>(count);
  const std::vector<Level> levels = levelsOf(sorted);
  const double reach = stepOf(levels) / 2;
  Bins bins(count, 0.0);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    double from = levels[i].value - reach;
    double to = levels[i].value + reach;
    if (i > 0) from = std::max(from, (levels[i - 1].value + levels[i].value) / 2);
    if (i + 1 < levels.size()) to = std::min(to, (levels[i].value + levels[i + 1].value) / 2);
    const double density = levels[i].count / (to - from);
    const double begin = std::max(from, low), end = std::min(to, high);
    for (double at = begin; at < end;) {
      const auto bin = std::min(static_cast<std::size_t>((at - low) / width), count - 1);
      const double edge = bin + 1 == count ? end : low + static_cast<double>(bin + 1) * width;
      const double upTo = std::min(std::max(edge, std::nextafter(at, end)), end);
      bins[bin] += density * (upTo - at);
      at = upTo;
    }
  }
  return bins;
}

/// Less than half of the smaller peak, and by more than chance: counts scatter by their root.
bool isValley(double valley, double smallerPeak) {
  constexpr double kSigmas = 2;
  return valley + kSigmas * std::sqrt(valley + 1) <
         0.5 * (smallerPeak - kSigmas * std::sqrt(smallerPeak));
}

/// Small, fast, the same everywhere; std::uniform_int_distribution is not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::size_t below(std::size_t n) {
    // n is a number of runs or blocks: far below 2^32.
    return static_cast<std::size_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

constexpr int kResamples = 2000;
constexpr std::uint64_t kSeed = 20260101;

/// One draw: runs with replacement, within each its blocks with replacement; median of medians.
double resampledLevel(std::span<const RunBlocks> runs, Random& random, std::vector<double>& blocks,
                      std::vector<double>& medians) {
  medians.clear();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunBlocks& run = runs[random.below(runs.size())];
    blocks.resize(run.size());
    for (double& block : blocks) block = run[random.below(run.size())];
    medians.push_back(medianInPlace(blocks));
  }
  return medianInPlace(medians);
}

double levelValue(std::span<const RunBlocks> runs) {
  std::vector<double> medians;
  for (const RunBlocks& run : runs) medians.push_back(median(run));
  return median(medians);
}

Interval middleOf(std::vector<double>& draws, double confidence) {
  std::sort(draws.begin(), draws.end());
  const double tail = (1 - confidence) / 2;
  return {percentileSorted(draws, std::max(tail, 1.0 / static_cast<double>(draws.size()))),
          percentileSorted(draws, 1 - tail), confidence};
}

}  // namespace

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return medianInPlace(copy);
}

double percentileSorted(std::span<const double> sorted, double q) {
  // A product such as 0.999 * 1000 comes out a little above 999: take off what is rounding.
  const double rank = std::ceil(q * static_cast<double>(sorted.size()) * (1 - 1e-12));
  const auto index = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

std::optional<Interval> medianInterval(std::span<const double> values) {
  constexpr double kTail = 0.025;
  const std::size_t n = values.size();
  if (n < 6) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // The narrowest symmetric ranks l .. n+1-l that cover at least 95 %: the largest l with
  // P(X <= l-1) <= 2.5 %.
  std::size_t low = 1;
  while (low < n / 2 && binomialHalfCdf(n, low) <= kTail) ++low;
  return Interval{sorted[low - 1], sorted[n - low], 0.95};
}

std::vector<double> blockMedians(std::span<const double> values, std::size_t blocks) {
  std::vector<double> medians;
  const std::size_t count = std::min(blocks, values.size());
  if (count == 0) return medians;
  const std::size_t length = values.size() / count;
  const std::size_t longer = values.size() % count;
  std::size_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = length + (i >= count - longer ? 1 : 0);
    medians.push_back(median(values.subspan(from, n)));
    from += n;
  }
  return medians;
}

double mannKendall(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 4) return 1;
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      s += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
    }
  }
  if (s == 0) return 1;
  const double count = static_cast<double>(n);
  const double variance = count * (count - 1) * (2 * count + 5) / 18;
  const double z = (std::abs(s) - 1) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

std::optional<double> lag1Autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return {};
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double here = values[i] - mean;
    squares += here * here;
    if (i != 0) products += here * (values[i - 1] - mean);
  }
  if (squares == 0) return {};
  return products / squares;
}

bool drifts(std::span<const double> blockMedians) {
  const std::size_t third = blockMedians.size() / 3;
  if (blockMedians.size() < 9) return false;
  const std::array<std::span<const double>, 3> thirds = {
      blockMedians.first(third),
      blockMedians.subspan(third, blockMedians.size() - 2 * third),
      blockMedians.last(third),
  };
  // Each third around its own level: around one level for all, a drift would hide in the spread
  // that it makes.
  std::vector<double> distances;
  for (const auto& part : thirds) {
    const double level = median(part);
    for (const double value : part) distances.push_back(std::abs(value - level));
  }
  const double change = std::abs(median(thirds[2]) - median(thirds[0]));
  // Few blocks make a small spread by chance, but seldom a trend as well.
  return change > 0.02 * std::abs(median(blockMedians)) && change > 3 * median(distances) &&
         mannKendall(blockMedians) < 0.05;
}

std::optional<std::array<double, 2>> twoModes(std::span<const double> values) {
  if (values.size() < 100) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // The tail would squeeze everything else into one bin.
  const double low = percentileSorted(sorted, 0.01);
  const double high = percentileSorted(sorted, 0.98);
  if (!(high > low)) return {};
  const Bins bins = binned(sorted, low, high);
  const double total = std::accumulate(bins.begin(), bins.end(), 0.0);
  double before = 0;
  for (std::size_t split = 1; split + 1 < bins.size(); ++split) {
    before += bins[split - 1];
    const double after = total - before - bins[split];
    if (before < 0.1 * total || after < 0.1 * total) continue;
    const auto valley = bins.begin() + static_cast<std::ptrdiff_t>(split);
    const auto left = std::max_element(bins.begin(), valley);
    const auto right = std::max_element(valley + 1, bins.end());
    if (!isValley(*valley, std::min(*left, *right))) continue;
    const double width = (high - low) / static_cast<double>(bins.size());
    const auto centre = [&](auto peak) {
      return low + (static_cast<double>(peak - bins.begin()) + 0.5) * width;
    };
    return std::array{centre(left), centre(right)};
  }
  return {};
}

Ratio levelOf(std::span<const RunBlocks> runs, double confidence) {
  Ratio level{levelValue(runs), {}};
  if (runs.size() < 2) return level;
  Random random(kSeed);
  std::vector<double> draws, blocks, medians;
  for (int i = 0; i < kResamples; ++i) {
    draws.push_back(resampledLevel(runs, random, blocks, medians));
  }
  level.interval = middleOf(draws, confidence);
  return level;
}

Ratio ratioOf(std::span<const RunBlocks> candidate, std::span<const RunBlocks> base,
              double confidence) {
  Ratio ratio{levelValue(candidate) / levelValue(base), {}};
  if (candidate.size() < 2 || base.size() < 2) return ratio;
  Random random(kSeed);
  std::vector<double> draws, blocks, medians;
  for (int i = 0; i < kResamples; ++i) {
    const double above = resampledLevel(candidate, random, blocks, medians);
    draws.push_back(above / resampledLevel(base, random, blocks, medians));
  }
  ratio.interval = middleOf(draws, confidence);
  return ratio;
}

}  // namespace gdrbench
