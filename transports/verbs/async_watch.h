// SPDX-License-Identifier: Apache-2.0
// Asynchronous events of a device (port down, queue pair failed), awaited by a thread that sleeps
// otherwise: reading them is a system call, which a lane may not make.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "harness/core/result.h"
#include "transports/verbs/calls.h"

namespace gdrbench::verbs {

class AsyncWatch {
 public:
  static constexpr int kNothing = -1;

  /// Watches `context` for events that end a conversation over `port`.
  static Result<std::unique_ptr<AsyncWatch>> start(Calls& calls, ibv_context* context, int port);
  ~AsyncWatch();
  AsyncWatch(const AsyncWatch&) = delete;
  AsyncWatch& operator=(const AsyncWatch&) = delete;

  /// Type of the first such event, or kNothing. One relaxed load: for the hot path.
  [[nodiscard]] int event() const noexcept { return event_.load(std::memory_order_relaxed); }

 private:
  AsyncWatch(Calls& calls, ibv_context* context, int port, int stopFd)
      : calls_(calls), context_(context), port_(port), stopFd_(stopFd) {}
  void run();
  void takeEvent();

  Calls& calls_;
  ibv_context* context_;
  int port_;
  int stopFd_;
  std::atomic<int> event_{kNothing};
  std::thread thread_;
};

}  // namespace gdrbench::verbs
