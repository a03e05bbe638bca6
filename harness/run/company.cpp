// SPDX-License-Identifier: Apache-2.0
#include "harness/run/company.h"

#include <algorithm>

namespace gdrbench {
namespace {

double seconds(const TimeSpan& span) {
  return std::chrono::duration<double>(span.to - span.from).count();
}

double overlap(const TimeSpan& a, const TimeSpan& b) {
  return std::max(0.0, seconds({std::max(a.from, b.from), std::min(a.to, b.to)}));
}

/// Of its own measured time; never above all of it.
double busyShare(const Companion& companion) {
  const double whole = seconds(companion.measured);
  return whole > 0 ? std::min(1.0, companion.timedSeconds / whole) : 0;
}

}  // namespace

std::vector<double> companyOf(std::span<const Companion> group) {
  std::vector<double> shares(group.size(), 0);
  if (group.size() < 2) return shares;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const double own = seconds(group[i].measured);
    if (!(own > 0)) continue;
    double least = 1;
    for (std::size_t j = 0; j < group.size(); ++j) {
      if (i == j) continue;
      const double together = overlap(group[i].measured, group[j].measured) / own;
      least = std::min(least, together * busyShare(group[j]));
    }
    shares[i] = least;
  }
  return shares;
}

}  // namespace gdrbench
