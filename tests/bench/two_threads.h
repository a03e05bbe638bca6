// SPDX-License-Identifier: Apache-2.0
// What benches share that run both sides of a pair as threads of one process.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace gdrbench {

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Both threads arrive before either goes on.
class Meeting {
 public:
  void meet() {
    const int turn = turn_.load();
    if (++here_ == 2) {
      here_ = 0;
      ++turn_;
      return;
    }
    while (turn_.load() == turn) std::this_thread::yield();
  }

 private:
  std::atomic<int> here_{0}, turn_{0};
};

}  // namespace gdrbench
