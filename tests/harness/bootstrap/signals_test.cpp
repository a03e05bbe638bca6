// SPDX-License-Identifier: Apache-2.0
// Signals stay in a process for good, so each case plays the conductor in a process of its own,
// whose exit status says how far it came.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "tests/harness/bootstrap/shell.h"

using namespace gdrbench;
using namespace gdrbench::testing;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

template <class Play>
int statusOf(Play play) {
  const pid_t pid = fork();
  if (pid == 0) _exit(play());
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool isCancelledBy(const Result<Happening>& happening, int signal) {
  return !happening.ok() && happening.error().code == ErrorCode::kCancelled &&
         happening.error().nativeCode == signal;
}

bool isTimeout(const Result<Happening>& happening) {
  return !happening.ok() && happening.error().code == ErrorCode::kTimeout;
}

}  // namespace

TEST_CASE("the first signal wakes a wait once, with its number, and waiting goes on") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    CHECK(statusOf([signal] {
            installConductorSignals();
            Watch watch;
            // The child sends it, so that it comes while this process sleeps in next().
            if (!watch.spawn(shell(fmt::format("kill -{} $PPID; exec cat <&3 >&3", signal)))) {
              return 1;
            }
            if (!isCancelledBy(watch.next(late()), signal)) return 2;
            if (!watch.send(0, {MessageType::kCancel, "still here"}, late())) return 3;
            auto happening = watch.next(late());
            if (!happening || happening->message.body != "still here") return 4;
            if (!isTimeout(watch.next(steady_clock::now() + milliseconds(10)))) return 5;
            return 0;
          }) == 0);
  }
}

TEST_CASE("a signal that comes between waits is not lost, even without a watch") {
  CHECK(statusOf([] {
          installConductorSignals();
          raise(SIGTERM);
          Watch watch;
          if (!isCancelledBy(watch.next(late()), SIGTERM)) return 1;
          return isTimeout(watch.next(TimePoint{})) ? 0 : 2;
        }) == 0);
}

TEST_CASE("a signal while all are being ended does not stop that, and is told afterwards") {
  CHECK(statusOf([] {
          installConductorSignals();
          Watch watch;
          if (!watch.spawn(shell("trap 'kill -INT $PPID; exit 0' TERM; " +
                                 sendMessage(MessageType::kReady, "") +
                                 "; while :; do sleep 0.01; done"))) {
            return 1;
          }
          if (!watch.next(late())) return 2;
          watch.endAll(std::chrono::seconds(20));
          if (runs(watch.pid(0))) return 3;
          return isCancelledBy(watch.next(late()), SIGINT) ? 0 : 4;
        }) == 0);
}

TEST_CASE("the second signal kills the children and ends the conductor with 130") {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  CHECK(statusOf([&] {
          installConductorSignals();
          Watch watch;
          if (!watch.spawn(shell("trap '' TERM; " + sendMessage(MessageType::kReady, "") +
                                 "; while :; do sleep 60; done"))) {
            return 1;
          }
          if (!watch.next(late())) return 2;
          const pid_t child = watch.pid(0);
          if (write(pipe[1], &child, sizeof child) != sizeof child) return 3;
          raise(SIGINT);
          if (!isCancelledBy(watch.next(late()), SIGINT)) return 4;
          raise(SIGTERM);
          return 5;
        }) == 130);
  pid_t child = -1;
  REQUIRE(read(pipe[0], &child, sizeof child) == sizeof child);
  CHECK(isGone(child));
  close(pipe[0]);
  close(pipe[1]);
}

TEST_CASE("SIGHUP stays ignored under nohup") {
  CHECK(statusOf([] {
          signal(SIGHUP, SIG_IGN);
          installConductorSignals();
          raise(SIGHUP);
          Watch watch;
          return isTimeout(watch.next(TimePoint{})) ? 0 : 1;
        }) == 0);
}
