// SPDX-License-Identifier: Apache-2.0
// A control channel: ordered, bounded messages over one stream socket, with a deadline on every
// operation. A worker uses one, blocking. The conductor waits on several, and on the processes
// behind them, with Watch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/bootstrap/message.h"
#include "harness/core/result.h"

namespace gdrbench {

using TimePoint = std::chrono::steady_clock::time_point;

/// The blocking end, for workers. Owns the descriptor.
class Channel {
 public:
  explicit Channel(int fd);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  /// kPeerLost when the other end is gone, kTimeout past the deadline, kCancelled when a signal
  /// asked the worker to stop (patterns/guard.h's flag is passed in by the caller as `stop`).
  Status send(const ControlMessage& message, TimePoint deadline);
  Result<ControlMessage> receive(TimePoint deadline);

  /// Read by receive between waits of at most 100 ms: a non-null pointer to a flag that ends it.
  void setStopFlag(const std::atomic<int>* flag) { stop_ = flag; }

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  FrameReader reader_;
  const std::atomic<int>* stop_ = nullptr;
};

/// How a process ended.
struct ProcessEnd {
  int status = 0;  ///< exit status; meaningful when signal is 0
  int signal = 0;
  TimePoint when;
  /// "exited with status 3", "ended by signal 9 (Killed)".
  [[nodiscard]] std::string text() const;
};

/// A child process with a channel to it: its own process group, its death signal set to SIGTERM,
/// the channel as its descriptor 3, all other descriptors closed, standard output to standard
/// error. Killed and reaped when destroyed.
struct SpawnRequest {
  std::vector<std::string> arguments;                    ///< argv; argv[0] is the path
  std::vector<std::pair<std::string, std::string>> env;  ///< set over the caller's environment
};

/// Something happened to one of the watched processes.
struct Happening {
  std::size_t index = 0;  ///< of the process, in the order of adding
  enum class Kind { kMessage, kEnded, kClosedChannel, kProtocolError } kind = Kind::kMessage;
  ControlMessage message;         ///< kMessage
  std::optional<ProcessEnd> end;  ///< kEnded
  std::optional<Error> error;     ///< kProtocolError; kClosedChannel in the middle of a message
};

/// The conductor's side: several children, one wait. Asleep in one system call between happenings;
/// no timer ticks. Everything received before a process ended is delivered before its end.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Result<std::size_t> spawn(const SpawnRequest& request);
  [[nodiscard]] int pid(std::size_t index) const;

  Status send(std::size_t index, const ControlMessage& message, TimePoint deadline);

  /// kTimeout past the deadline; kCancelled when one of SIGINT, SIGTERM, SIGHUP came to the
  /// conductor (its number in nativeCode; see installConductorSignals).
  Result<Happening> next(TimePoint deadline);

  /// Lets a process stand still (SIGSTOP) and waits until it does: a short while, then an Error.
  Status freeze(std::size_t index);
  /// Lets it go on. Asking one that was frozen to stop does so too.
  void thaw(std::size_t index);

  /// Asks a process to stop (SIGTERM).
  void cancel(std::size_t index);
  /// Ends a process that has been asked in vain (SIGKILL, with its group).
  void kill(std::size_t index);
  /// Ends every process that still runs: SIGTERM, after `grace` SIGKILL, and reaps it.
  void endAll(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// SIGINT, SIGTERM and SIGHUP wake Watch::next; a second one ends the conductor at once with
/// status 130 (after killing the children).
void installConductorSignals();

/// A prefix for names that outlive a crash, unique among living processes of this host:
/// "gdrbench-<pid>-<start time of the process>-".
std::string uniqueNamePrefix();

/// Removes from /dev/shm what begins with `prefix`; answers the names removed.
std::vector<std::string> removeLeftovers(std::string_view prefix);

/// Removes from /dev/shm what runs of this user whose process no longer exists left behind. Names
/// of other programs and of living processes are not touched.
std::vector<std::string> removeStaleLeftovers();

}  // namespace gdrbench
