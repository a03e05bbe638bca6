// SPDX-License-Identifier: Apache-2.0
// How much of the time in which a case was measured the others of its group were busy, too.
#pragma once

#include <chrono>
#include <span>
#include <vector>

namespace gdrbench {

struct TimeSpan {
  std::chrono::steady_clock::time_point from, to;
};

/// One case of a group.
struct Companion {
  TimeSpan measured;
  double timedSeconds = 0;  ///< of that time, in which messages moved
};

/// For each case: the share of its measured time in which each of the others moved messages, the
/// least of them. 1: all the time; less where one began later, ended earlier or spent time on
/// filling and checking its slots; 0 where one was not measured. A case without others has 0.
std::vector<double> companyOf(std::span<const Companion> group);

}  // namespace gdrbench
