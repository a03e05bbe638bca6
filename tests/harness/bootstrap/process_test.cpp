// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/harness/bootstrap/shell.h"

using namespace gdrbench;
using namespace gdrbench::testing;

namespace {

int statusOf(const SpawnRequest& request) {
  Watch watch;
  REQUIRE(watch.spawn(request).ok());
  const ProcessEnd end = endOf(watch);
  CHECK(end.signal == 0);
  return end.status;
}

std::size_t openDescriptors() {
  std::size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

TEST_CASE("a child leads its own process group") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec sleep 60")).ok());
  CHECK(getpgid(watch.pid(0)) == watch.pid(0));
}

TEST_CASE("a child has descriptors 0 to 3 and no other") {
  const int extra = fcntl(STDERR_FILENO, F_DUPFD, 77);
  const int low = dup(STDERR_FILENO);
  CHECK(
      statusOf(shell("[ \"$(readlink /proc/$$/fd/0)\" = /dev/null ] || exit 1;"
                     "[ \"$(readlink /proc/$$/fd/1)\" = \"$(readlink /proc/$$/fd/2)\" ] || exit 2;"
                     "case \"$(readlink /proc/$$/fd/3)\" in socket:*) ;; *) exit 3;; esac;"
                     "i=4; while [ $i -lt 100 ]; do"
                     "  [ -L /proc/$$/fd/$i ] && exit 4; i=$((i + 1)); done; exit 0")) == 0);
  close(extra);
  close(low);
}

TEST_CASE("a child gets its environment over the caller's") {
  setenv("GDR_TEST_KEPT", "kept", 1);
  setenv("GDR_TEST_SET", "before", 1);
  SpawnRequest request = shell(
      "[ \"$GDR_TEST_KEPT\" = kept ] && [ \"$GDR_TEST_SET\" = 'a b=c' ] && [ \"$GDR_TEST_NEW\" = 1 "
      "]");
  request.env = {{"GDR_TEST_SET", "a b=c"}, {"GDR_TEST_NEW", "1"}};
  CHECK(statusOf(request) == 0);
  CHECK(std::string(getenv("GDR_TEST_SET")) == "before");
  unsetenv("GDR_TEST_KEPT");
  unsetenv("GDR_TEST_SET");
}

TEST_CASE("a child ignores and blocks no signal, whatever its parent does") {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGUSR1, &ignore, &before);
  sigset_t block, maskBefore;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR2);
  sigprocmask(SIG_BLOCK, &block, &maskBefore);
  CHECK(statusOf({{"/bin/grep", "-q", "^SigIgn:[[:space:]]*0*$", "/proc/self/status"}, {}}) == 0);
  CHECK(statusOf({{"/bin/grep", "-q", "^SigBlk:[[:space:]]*0*$", "/proc/self/status"}, {}}) == 0);
  sigset_t maskAfter;
  sigprocmask(SIG_SETMASK, &maskBefore, &maskAfter);
  CHECK(sigismember(&maskAfter, SIGUSR2) == 1);
  CHECK(sigismember(&maskAfter, SIGTERM) == 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("the end of a child is known even when SIGCHLD was ignored") {
  signal(SIGCHLD, SIG_IGN);
  CHECK(statusOf(shell("exit 5")) == 5);
}

TEST_CASE("a program that cannot be executed is an error at once and leaves nothing behind") {
  Watch watch;
  const std::size_t before = openDescriptors();
  auto missing = watch.spawn({{"/no/such/program", "x"}, {}});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().what() ==
        "could not start /no/such/program: No such file or directory (2)");
  auto folder = watch.spawn({{"/etc"}, {}});
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().code == ErrorCode::kPermission);
  auto nothing = watch.spawn({});
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.error().code == ErrorCode::kInternal);
  CHECK(openDescriptors() == before);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(*watch.spawn(shell("exit 0")) == 0);  // the failed ones took no index
}

TEST_CASE("watching leaves no descriptor open") {
  { const Watch first; }  // the descriptor that signals wake stays
  const std::size_t before = openDescriptors();
  {
    Watch watch;
    REQUIRE(watch.spawn(shell("exec sleep 60")).ok());
    REQUIRE(watch.spawn(shell("exit 0")).ok());
    (void)endOf(watch);
  }
  CHECK(openDescriptors() == before);
}

TEST_CASE("children get SIGTERM when the conductor dies without a word") {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t conductor = fork();
  if (conductor == 0) {
    Watch watch;
    pid_t child = -1;
    if (watch.spawn(shell("exec sleep 60")).ok()) child = watch.pid(0);
    [[maybe_unused]] const ssize_t written = write(pipe[1], &child, sizeof child);
    _exit(0);
  }
  pid_t child = -1;
  REQUIRE(read(pipe[0], &child, sizeof child) == sizeof child);
  REQUIRE(child > 0);
  REQUIRE(waitpid(conductor, nullptr, 0) == conductor);
  CHECK(isGone(child));
  close(pipe[0]);
  close(pipe[1]);
}
