// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace gdrbench::nccl {

/// Calls that may hang inside a library. A thread that does not come to an end is left behind: what
/// it was given it owns, and it holds nothing that others of this process need.
class SideThread {
 public:
  template <class Work>
  explicit SideThread(Work work) {
    std::thread([state = state_, work = std::move(work)] {
      work();
      const std::lock_guard lock(state->mutex);
      state->ended = true;
      state->changed.notify_all();
    }).detach();
  }

  /// Waits for its end; false when the deadline came first.
  bool endedBy(std::chrono::steady_clock::time_point deadline) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_until(lock, deadline, [&] { return state_->ended; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace gdrbench::nccl
