// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/harness/bootstrap/shell.h"

using namespace gdrbench;
using namespace gdrbench::testing;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Kind = Happening::Kind;

TEST_CASE("an echo through a child gives back the message") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec cat <&3 >&3")).ok());
  REQUIRE(watch.send(0, {MessageType::kAssign, "there and back"}, late()).ok());
  const Happening back = nextOf(watch);
  CHECK(back.kind == Kind::kMessage);
  CHECK(back.index == 0);
  CHECK(back.message.type == MessageType::kAssign);
  CHECK(back.message.body == "there and back");
}

TEST_CASE("a child stands still until it is let go on, and ends all the same") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec cat <&3 >&3")).ok());
  const Status still = watch.freeze(0);
  REQUIRE_MESSAGE(still, still.error().what());
  REQUIRE(watch.send(0, {MessageType::kAssign, "still there?"}, late()).ok());
  const auto nothing = watch.next(steady_clock::now() + milliseconds(100));
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code == ErrorCode::kTimeout);
  watch.thaw(0);
  CHECK(nextOf(watch).message.body == "still there?");

  REQUIRE(watch.freeze(0));
  watch.cancel(0);  // SIGTERM alone would wait for ever
  Happening end = nextOf(watch);
  if (end.kind == Kind::kClosedChannel) end = nextOf(watch);
  REQUIRE(end.kind == Kind::kEnded);
  CHECK(end.end->signal == SIGTERM);
  CHECK_FALSE(watch.freeze(0));
}

TEST_CASE("happenings say which child they are of") {
  Watch watch;
  REQUIRE(*watch.spawn(shell("exec cat <&3 >&3")) == 0);
  REQUIRE(*watch.spawn(shell("exec cat <&3 >&3")) == 1);
  CHECK(watch.pid(0) != watch.pid(1));
  REQUIRE(watch.send(1, {MessageType::kChunk, "b"}, late()).ok());
  CHECK(nextOf(watch).index == 1);
  REQUIRE(watch.send(0, {MessageType::kChunk, "a"}, late()).ok());
  CHECK(nextOf(watch).index == 0);
}

TEST_CASE("all that a child sent comes before its end") {
  const std::string large(100'000, 'L');
  for (const std::string last : {"exit 7", "kill -KILL $$"}) {
    CAPTURE(last);
    Watch watch;
    std::string script = sendMessage(MessageType::kHello, "first") + ";";
    script += sendBytes(encodeFrame({MessageType::kSamples, large})->substr(0, 16)) + ";";
    script += "head -c 100000 /dev/zero | tr '\\0' L >&3;";
    script += sendMessage(MessageType::kResult, "last") + ";" + last;
    REQUIRE(watch.spawn(shell(script)).ok());
    // Everything is there before the first look: the end must still come last.
    siginfo_t info{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(watch.pid(0)), &info, WEXITED | WNOWAIT) == 0);
    CHECK(nextOf(watch).message.body == "first");
    CHECK(nextOf(watch).message.body == large);
    CHECK(nextOf(watch).message.body == "last");
    Happening end = nextOf(watch);
    if (end.kind == Kind::kClosedChannel) end = nextOf(watch);
    REQUIRE(end.kind == Kind::kEnded);
    CHECK(end.end->text() ==
          (last == "exit 7" ? "exited with status 7" : "ended by signal 9 (Killed)"));
  }
}

TEST_CASE("more messages than are kept at once all arrive, in order") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec cat <&3 >&3")).ok());
  for (int i = 0; i < 300; ++i) {
    REQUIRE(watch.send(0, {MessageType::kPhase, std::to_string(i)}, late()).ok());
  }
  for (int i = 0; i < 300; ++i) REQUIRE(nextOf(watch).message.body == std::to_string(i));
}

TEST_CASE("a child that is killed has an end that names the signal") {
  struct Row {
    int signal;
    const char* text;
  };
  for (const Row& row :
       {Row{SIGTERM, "ended by signal 15 (Terminated)"},
        Row{SIGINT, "ended by signal 2 (Interrupt)"}, Row{SIGKILL, "ended by signal 9 (Killed)"},
        Row{SIGSEGV, "ended by signal 11 (Segmentation fault)"},
        Row{SIGABRT, "ended by signal 6 (Aborted)"}}) {
    Watch watch;
    const auto before = steady_clock::now();
    REQUIRE(
        watch
            .spawn(shell("ulimit -c 0;" + sendMessage(MessageType::kHello, "") + "; exec sleep 60"))
            .ok());
    REQUIRE(nextOf(watch).kind == Kind::kMessage);
    kill(watch.pid(0), row.signal);
    const ProcessEnd end = endOf(watch);
    CHECK(end.text() == row.text);
    CHECK(end.signal == row.signal);
    CHECK(end.when >= before);
    CHECK(end.when <= steady_clock::now());
  }
}

TEST_CASE("a signal without words of its own is told by its number") {
  ProcessEnd end;
  end.signal = SIGRTMAX;
  CHECK(end.text() == "ended by signal 64");
  CHECK(ProcessEnd{}.text() == "exited with status 0");
}

TEST_CASE("waiting ends at the deadline, and goes on afterwards") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec cat <&3 >&3")).ok());
  for (const TimePoint deadline : {TimePoint{}, steady_clock::now() + milliseconds(30)}) {
    auto none = watch.next(deadline);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ErrorCode::kTimeout);
  }
  REQUIRE(watch.send(0, {MessageType::kClose, ""}, late()).ok());
  auto far = watch.next(TimePoint::max());
  REQUIRE(far.ok());
  CHECK(far->message.type == MessageType::kClose);
}

TEST_CASE("what happened before a deadline that has passed is still given out") {
  Watch watch;
  REQUIRE(watch.spawn(shell(sendMessage(MessageType::kHello, "early"))).ok());
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(watch.pid(0)), &info, WEXITED | WNOWAIT) == 0);
  auto happening = watch.next(TimePoint{});
  REQUIRE(happening.ok());
  CHECK(happening->message.body == "early");
}

TEST_CASE("a channel closed by a child that goes on is reported, and sending says so") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec 3>&-; exec sleep 60")).ok());
  const Happening closed = nextOf(watch);
  CHECK(closed.kind == Kind::kClosedChannel);
  CHECK_FALSE(closed.error.has_value());
  const Status sent = watch.send(0, {MessageType::kClose, ""}, late());
  REQUIRE_FALSE(sent.ok());
  CHECK(sent.error().code == ErrorCode::kPeerLost);
  watch.cancel(0);
  CHECK(endOf(watch).signal == SIGTERM);
}

TEST_CASE("an end in the middle of a message is visible beside the end") {
  Watch watch;
  REQUIRE(watch.spawn(shell(sendBytes("GDRB") + "; exit 3")).ok());
  const Happening closed = nextOf(watch);
  REQUIRE(closed.kind == Kind::kClosedChannel);
  REQUIRE(closed.error.has_value());
  CHECK(closed.error->nativeText.find("middle of a message") != std::string::npos);
  CHECK(endOf(watch).status == 3);
}

TEST_CASE("bytes that are no message are a protocol error, after the messages before them") {
  Watch watch;
  REQUIRE(watch
              .spawn(shell(sendBytes(*encodeFrame({MessageType::kHello, "ok"}) + "HTTP/1.1 ") +
                           "; exec sleep 60"))
              .ok());
  CHECK(nextOf(watch).message.body == "ok");
  const Happening fault = nextOf(watch);
  REQUIRE(fault.kind == Kind::kProtocolError);
  REQUIRE(fault.error.has_value());
  CHECK(fault.error->code == ErrorCode::kProtocol);
  CHECK(fault.error->what().find("an HTTP client?") != std::string::npos);
  watch.cancel(0);
  const Happening end = nextOf(watch);
  CHECK(end.kind == Kind::kEnded);
}

TEST_CASE("sending to a child that does not read ends at its deadline") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec sleep 60")).ok());
  const Status sent = watch.send(0, {MessageType::kSamples, std::string(kMaxBody, 'x')},
                                 steady_clock::now() + milliseconds(20));
  REQUIRE_FALSE(sent.ok());
  CHECK(sent.error().code == ErrorCode::kTimeout);
}

TEST_CASE("ending all ends those that listen to SIGTERM by it and the others by SIGKILL") {
  Watch watch;
  REQUIRE(watch.spawn(shell("exec sleep 60")).ok());
  REQUIRE(watch
              .spawn(shell("trap '' TERM;" + sendMessage(MessageType::kReady, "") +
                           "; while :; do sleep 60; done"))
              .ok());
  REQUIRE(nextOf(watch).index == 1);
  watch.endAll(milliseconds(100));
  CHECK(kill(watch.pid(0), 0) == -1);  // reaped
  CHECK(kill(watch.pid(1), 0) == -1);
  int signals[2] = {0, 0};
  for (int ended = 0; ended < 2;) {
    const Happening happening = nextOf(watch);
    if (happening.kind != Kind::kEnded) continue;
    signals[happening.index] = happening.end->signal;
    ++ended;
  }
  CHECK(signals[0] == SIGTERM);
  CHECK(signals[1] == SIGKILL);
}

TEST_CASE("no grandchild outlives the child, however that ends") {
  for (const std::string last : {"exit 0", "trap '' TERM; wait"}) {
    CAPTURE(last);
    Watch watch;
    const std::string head = encodeFrame({MessageType::kPhase, "        "})->substr(0, 16);
    REQUIRE(watch
                .spawn(shell("(trap '' TERM; sleep 60; sleep 60) & " + sendBytes(head) +
                             "; printf '%8d' $! >&3; " + last))
                .ok());
    const pid_t grandchild = std::stoi(nextOf(watch).message.body);
    if (last == "exit 0") {
      CHECK(endOf(watch).status == 0);
    } else {
      watch.endAll(milliseconds(50));
    }
    CHECK(isGone(grandchild));
  }
}

TEST_CASE("a child that floods its channel while it is ended is ended") {
  Watch watch;
  const std::string message = *encodeFrame({MessageType::kPhase, std::string(1000, 'x')});
  REQUIRE(watch.spawn(shell("trap '' TERM; while :; do " + sendBytes(message) + "; done")).ok());
  REQUIRE(nextOf(watch).kind == Kind::kMessage);
  watch.endAll(milliseconds(100));
  CHECK(kill(watch.pid(0), 0) == -1);
}

TEST_CASE("a watch that goes away takes its children with it") {
  pid_t pid = 0;
  {
    Watch watch;
    REQUIRE(watch.spawn(shell("exec sleep 60")).ok());
    pid = watch.pid(0);
    CHECK(runs(pid));
  }
  CHECK(kill(pid, 0) == -1);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}
