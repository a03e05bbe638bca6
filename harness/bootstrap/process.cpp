// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "harness/bootstrap/signals.h"

namespace gdrbench {
namespace {

constexpr int kChannelFd = 3;
// The descriptors that the child arranges lie above those that it arranges them to.
constexpr int kAbove = 10;

// --- before the fork -----------------------------------------------------------------------------

Result<Descriptor> above(int fd, const std::string& tried) {
  if (fd < 0) return systemError(tried, errno);
  const Descriptor low(fd);
  Descriptor high(::fcntl(fd, F_DUPFD_CLOEXEC, kAbove));
  if (high.get() < 0) return systemError(tried, errno);
  return high;
}

std::vector<std::string> environmentWith(const SpawnRequest& request) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view key = text.substr(0, text.find('='));
    const bool replaced = std::any_of(request.env.begin(), request.env.end(),
                                      [&](const auto& pair) { return pair.first == key; });
    if (!replaced) variables.emplace_back(text);
  }
  variables.reserve(variables.size() + request.env.size());
  for (const auto& [key, value] : request.env)
    variables.push_back(fmt::format("{}={}", key, value));
  return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// For kernels without close_range: the limit on descriptors can be a billion, so what is open is
// looked up.
int highestDescriptor() {
  int highest = kAbove;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
  }
  while (const dirent* entry = ::readdir(folder)) {
    int fd = 0;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), fd);
    highest = std::max(highest, fd);
  }
  ::closedir(folder);
  return highest;
}

struct Plumbing {
  Descriptor ours;     // the conductor's end of the channel
  Descriptor theirs;   // the child's
  Descriptor null;     // /dev/null
  Descriptor report;   // read end: what went wrong in the child, nothing when exec went well
  Descriptor failure;  // its write end, closed by exec
};

Result<Plumbing> makePlumbing() {
  Plumbing plumbing;
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return systemError("make a control channel", errno);
  }
  plumbing.ours = Descriptor(pair[0]);
  auto theirs = above(pair[1], "make a control channel");
  if (!theirs) return theirs.error();
  plumbing.theirs = *std::move(theirs);

  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) return systemError("make a pipe", errno);
  plumbing.report = Descriptor(pipe[0]);
  auto failure = above(pipe[1], "make a pipe");
  if (!failure) return failure.error();
  plumbing.failure = *std::move(failure);

  auto null = above(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null");
  if (!null) return null.error();
  plumbing.null = *std::move(null);
  return plumbing;
}

// --- in the child: async-signal-safe calls only --------------------------------------------------

enum class Step : int { kGroup, kDeathSignal, kDescriptors, kExec };

struct StepFailure {
  Step step;
  int errnoValue;
};

struct ChildPlan {
  pid_t parent;
  int channel, null, failure, highest;
  char* const* arguments;
  char* const* environment;
};

[[noreturn]] void fail(const ChildPlan& plan, Step step) {
  const StepFailure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(plan.failure, &failure, sizeof failure);
  ::_exit(127);
}

void resetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void closeRange(unsigned first, unsigned last, int highest) {
  if (first > last) return;
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, last, 0u) == 0) return;
#endif
  for (unsigned fd = first; fd <= last && fd <= static_cast<unsigned>(highest); ++fd) {
    ::close(static_cast<int>(fd));
  }
}

bool arrangeDescriptors(const ChildPlan& plan) {
  if (::dup2(plan.channel, kChannelFd) < 0) return false;
  if (::dup2(plan.null, STDIN_FILENO) < 0) return false;
  // Standard output belongs to the conductor's own results. It may have no standard error.
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 &&
      (::dup2(plan.null, STDOUT_FILENO) < 0 || ::dup2(plan.null, STDERR_FILENO) < 0)) {
    return false;
  }
  const auto failure = static_cast<unsigned>(plan.failure);
  closeRange(kChannelFd + 1, failure - 1, plan.highest);
  closeRange(failure + 1, ~0u, plan.highest);
  return true;
}

[[noreturn]] void becomeChild(const ChildPlan& plan) {
  if (::setpgid(0, 0) != 0) fail(plan, Step::kGroup);
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) fail(plan, Step::kDeathSignal);
  // The parent may have ended before there was a death signal to send.
  if (::getppid() != plan.parent) ::_exit(127);
  if (!arrangeDescriptors(plan)) fail(plan, Step::kDescriptors);
  resetSignals();
  ::execve(plan.arguments[0], plan.arguments, plan.environment);
  fail(plan, Step::kExec);
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// No signal may find a child that still has this process's handlers, or one not yet remembered.
Result<pid_t> forkChild(const ChildPlan& plan) {
  const signals::Blocked blocked;
  const pid_t pid = ::fork();
  if (pid == 0) becomeChild(plan);
  if (pid < 0) return systemError(fmt::format("start {}", plan.arguments[0]), errno);
  if (signals::rememberChild(pid)) return pid;
  killAndReap({.pid = pid});
  return Error{.code = ErrorCode::kSystem,
               .tried = fmt::format("start {}", plan.arguments[0]),
               .nativeText = "too many processes are watched at once"};
}

// --- after the fork ------------------------------------------------------------------------------

std::string_view nameOf(Step step) {
  switch (step) {
    case Step::kGroup:
      return "set its process group";
    case Step::kDeathSignal:
      return "set its death signal";
    case Step::kDescriptors:
      return "arrange its descriptors";
    case Step::kExec:
      break;
  }
  return "execute it";
}

Error startError(const std::string& path, const StepFailure& failure) {
  if (failure.step != Step::kExec) {
    return systemError(fmt::format("start {}: {}", path, nameOf(failure.step)), failure.errnoValue);
  }
  Error error = systemError(fmt::format("start {}", path), failure.errnoValue);
  if (failure.errnoValue == ENOENT) error.code = ErrorCode::kNotFound;
  return error;
}

// Comes back when the child has executed its program, or has failed to.
Status waitForExec(const Plumbing& plumbing, const std::string& path) {
  StepFailure failure{};
  ssize_t got = 0;
  do {
    got = ::read(plumbing.report.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return Done{};
  if (got != sizeof failure)
    return systemError(fmt::format("start {}", path), got < 0 ? errno : EIO);
  return startError(path, failure);
}

Status openPidfd(Process& process) {
  process.pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (process.pidfd.get() >= 0) return Done{};
  return systemError("watch a process (pidfd_open)", errno, "Linux 5.3 or later is required");
}

Status settle(Process& process, Plumbing& plumbing, const std::string& path) {
  plumbing.failure.close();
  plumbing.theirs.close();
  if (Status executed = waitForExec(plumbing, path); !executed) return executed;
  return openPidfd(process);
}

}  // namespace

void killAndReap(const Process& process) {
  ::kill(-process.pid, SIGKILL);
  ::kill(process.pid, SIGKILL);
  signals::forgetChild(process.pid);
  reap(process.pid);
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Process> startProcess(const SpawnRequest& request) {
  if (request.arguments.empty()) {
    return Error{.code = ErrorCode::kInternal, .tried = "start a process without a program"};
  }
  auto plumbing = makePlumbing();
  if (!plumbing) return plumbing.error();
  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> environment = environmentWith(request);
  const std::vector<char*> argumentPointers = pointersTo(arguments);
  const std::vector<char*> environmentPointers = pointersTo(environment);
  const ChildPlan plan{.parent = ::getpid(),
                       .channel = plumbing->theirs.get(),
                       .null = plumbing->null.get(),
                       .failure = plumbing->failure.get(),
                       .highest = highestDescriptor(),
                       .arguments = argumentPointers.data(),
                       .environment = environmentPointers.data()};
  auto pid = forkChild(plan);
  if (!pid) return pid.error();
  Process process{.pid = *pid};
  if (Status settled = settle(process, *plumbing, arguments[0]); !settled) {
    killAndReap(process);
    return std::move(settled).error();
  }
  process.channel = std::move(plumbing->ours);
  return process;
}

}  // namespace gdrbench
