// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/signals.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "harness/bootstrap/channel.h"

namespace gdrbench {
namespace {

constexpr int kStatusOfSecondSignal = 130;
constexpr std::size_t kMostChildren = 256;

// All that the handler touches. Lock-free, or a handler could wait for what it interrupted.
std::array<std::atomic<pid_t>, kMostChildren> gChildren{};
std::atomic<int> gPending{0};
std::atomic<int> gCame{0};
std::atomic<int> gWake{-1};
static_assert(sizeof(pid_t) == sizeof(int) && std::atomic<int>::is_always_lock_free);

void killChildren() {
  for (const std::atomic<pid_t>& child : gChildren) {
    if (const pid_t pid = child.load(); pid > 0) ::kill(-pid, SIGKILL);
  }
}

extern "C" void onConductorSignal(int signal) {
  const int saved = errno;
  if (gCame.fetch_add(1) > 0) {
    killChildren();
    ::_exit(kStatusOfSecondSignal);
  }
  gPending.store(signal);
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(gWake.load(), &one, sizeof one);
  errno = saved;
}

bool isIgnored(int signal) {
  struct sigaction current {};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

void handle(int signal) {
  struct sigaction action {};
  action.sa_handler = onConductorSignal;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void installConductorSignals() {
  signals::wakeDescriptor();
  handle(SIGINT);
  handle(SIGTERM);
  // Under nohup the terminal's end is meant to be ignored.
  if (!isIgnored(SIGHUP)) handle(SIGHUP);
}

namespace signals {

int wakeDescriptor() {
  if (gWake.load() < 0) gWake.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return gWake.load();
}

void drainWake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(gWake.load(), &count, sizeof count);
}

int takeSignal() {
  return gPending.exchange(0);
}

bool rememberChild(pid_t pid) {
  for (std::atomic<pid_t>& child : gChildren) {
    pid_t none = 0;
    if (child.compare_exchange_strong(none, pid)) return true;
  }
  return false;
}

void forgetChild(pid_t pid) {
  for (std::atomic<pid_t>& child : gChildren) {
    pid_t known = pid;
    if (child.compare_exchange_strong(known, 0)) return;
  }
}

void keepEndedChildren() {
  if (isIgnored(SIGCHLD)) ::signal(SIGCHLD, SIG_DFL);
}

Blocked::Blocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

Blocked::~Blocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace signals
}  // namespace gdrbench
