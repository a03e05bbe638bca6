// SPDX-License-Identifier: Apache-2.0
// What a measurement comes to. Made by harness/measure, stored in the result document, printed by
// harness/report: plain data with no way to say more than was measured. A percentile that has too
// few samples, or a rate that has too few blocks for an interval, is absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gdrbench {

/// Two-sided interval.
struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0.95;
  bool operator==(const Interval&) const = default;
};

/// Of per-message samples only: there is no such object without at least one sample. Nanoseconds
/// of one whole sample: a round trip in ping-pong, an operation in a pull; see Row::sample.
struct LatencySummary {
  std::uint64_t n = 0;
  double min = 0, p50 = 0, mean = 0, stddev = 0, mad = 0, max = 0;
  std::optional<double> p90;                   ///< from 10 samples
  std::optional<double> p99;                   ///< from 368 samples
  std::optional<double> p999;                  ///< from 3,688 samples
  std::optional<Interval> p50Interval;         ///< from block medians, by ranks; from 6 blocks
  std::optional<double> lag1;                  ///< autocorrelation of neighbouring samples
  bool drift = false;                          ///< first and last third of the block medians differ
  std::optional<std::array<double, 2>> modes;  ///< two separate peaks, where there are two
  double resolution = 0;  ///< relative error of the percentiles: 0 from raw samples, else histogram
  std::vector<double> blockMedians;  ///< in time order, at most 64
  bool operator==(const LatencySummary&) const = default;
};

/// Of a whole stream: all bytes over all time, the return message included.
struct RateSummary {
  std::uint64_t messages = 0, bytes = 0;  ///< both directions together
  double seconds = 0;                     ///< timed
  double bytesPerSecond = 0;              ///< bytes / seconds
  double messagesPerSecond = 0;
  double minBlock = 0, p50Block = 0;    ///< bytes per second over one block
  std::optional<Interval> p50Interval;  ///< of p50Block
  bool drift = false;
  std::vector<double> blockRates;  ///< bytes per second, in time order, at most 64
  bool operator==(const RateSummary&) const = default;
};

}  // namespace gdrbench
