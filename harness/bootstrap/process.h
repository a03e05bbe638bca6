// SPDX-License-Identifier: Apache-2.0
// Starting a child process with a channel to it.
#pragma once

#include <sys/types.h>

#include "harness/bootstrap/channel.h"
#include "harness/core/result.h"

namespace gdrbench {

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

/// A child that runs; the caller reaps it.
struct Process {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor channel;
};

/// As described at SpawnRequest. An exec that fails is an error here, not an end later. The child
/// gets SIGTERM when the calling thread ends, so that thread has to be one that stays.
Result<Process> startProcess(const SpawnRequest& request);

/// Ends a started process that nobody watches yet, with its group.
void killAndReap(const Process& process);

}  // namespace gdrbench
