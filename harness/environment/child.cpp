// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

namespace gdrbench {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

[[noreturn]] void runAndExit(int out, pid_t parent, const std::function<std::string()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before the line above
  // The handlers belong to the parent, and a crash here is an answer and no crash of the program.
  for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    ::signal(signal, SIG_DFL);
  }
  const std::string text = work();
  for (std::string_view left(text); !left.empty();) {
    const ssize_t done = ::write(out, left.data(), left.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) ::_exit(1);
    left.remove_prefix(static_cast<std::size_t>(done));
  }
  ::_exit(0);  // no destructors, no flush: both belong to the parent
}

/// All that is written until the other end closes; nothing when the deadline comes first.
std::optional<std::string> readUntil(int in, Clock::time_point deadline) {
  std::string text;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd wait{.fd = in, .events = POLLIN};
    if (::poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(in, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Kills, but does not wait for ever: a process that a driver holds in the kernel outlives SIGKILL.
void killAndLeave(pid_t child) {
  ::kill(child, SIGKILL);
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (::waitpid(child, nullptr, WNOHANG) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Error ended(const std::string& tried, int status) {
  Error error{.code = ErrorCode::kCrash, .tried = tried};
  error.nativeText =
      WIFSIGNALED(status)
          ? fmt::format("the process that did so ended by signal {} ({})", WTERMSIG(status),
                        ::strsignal(WTERMSIG(status)))
          : fmt::format("the process that did so ended with status {}", WEXITSTATUS(status));
  return error;
}

}  // namespace

Result<std::string> inChild(const std::string& tried, std::chrono::milliseconds timeout,
                            const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return systemError(tried, errno);
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return systemError(tried, errno);
  if (child == 0) runAndExit(out.get(), parent, work);
  out.close();
  auto text = readUntil(in.get(), Clock::now() + timeout);
  if (!text) {
    killAndLeave(child);
    return Error{.code = ErrorCode::kTimeout,
                 .tried = tried,
                 .nativeText = fmt::format("no answer within {} ms", timeout.count())};
  }
  if (const int status = waitFor(child); status != 0) return ended(tried, status);
  return *std::move(text);
}

}  // namespace gdrbench
