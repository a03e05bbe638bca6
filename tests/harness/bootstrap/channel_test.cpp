// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/channel.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace gdrbench;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

TimePoint in(int ms) {
  return steady_clock::now() + milliseconds(ms);
}
TimePoint soon() {
  return in(20);
}
TimePoint late() {
  return in(60'000);
}

struct Pair {
  Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0); }
  int fds[2];
};

void writeAll(int fd, const std::string& bytes) {
  REQUIRE(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("messages go both ways and keep their order") {
  Pair pair;
  Channel left(pair.fds[0]), right(pair.fds[1]);
  REQUIRE(left.send({MessageType::kHello, "one"}, late()).ok());
  REQUIRE(left.send({MessageType::kPhase, ""}, late()).ok());
  REQUIRE(right.send({MessageType::kAssign, "two"}, late()).ok());
  auto first = right.receive(late());
  auto second = right.receive(late());
  auto third = left.receive(late());
  REQUIRE((first.ok() && second.ok() && third.ok()));
  CHECK(first->type == MessageType::kHello);
  CHECK(first->body == "one");
  CHECK(second->type == MessageType::kPhase);
  CHECK(third->body == "two");
}

TEST_CASE("a message larger than the socket goes through while the other side reads") {
  Pair pair;
  Channel left(pair.fds[0]), right(pair.fds[1]);
  const std::string body(kMaxBody, 'b');
  bool sent = false;
  std::thread sender([&] { sent = left.send({MessageType::kSamples, body}, late()).ok(); });
  auto received = right.receive(late());
  sender.join();
  CHECK(sent);
  REQUIRE(received.ok());
  CHECK(received->body == body);
}

TEST_CASE("receive ends at its deadline and the channel still works") {
  Pair pair;
  Channel left(pair.fds[0]), right(pair.fds[1]);
  auto none = right.receive(soon());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kTimeout);
  REQUIRE(left.send({MessageType::kBegin, ""}, late()).ok());
  CHECK(right.receive(TimePoint{}).ok());  // what is there is in time
}

TEST_CASE("send ends at its deadline when nobody reads") {
  Pair pair;
  Channel left(pair.fds[0]);
  const Status sent = left.send({MessageType::kSamples, std::string(kMaxBody, 'b')}, soon());
  REQUIRE_FALSE(sent.ok());
  CHECK(sent.error().code == ErrorCode::kTimeout);
  CHECK(sent.error().tried == "send Samples on the control channel");
  close(pair.fds[1]);
}

TEST_CASE("a peer that is gone is lost, and sending to it raises no signal") {
  Pair pair;
  Channel left(pair.fds[0]);
  writeAll(pair.fds[1], *encodeFrame({MessageType::kFailure, "bye"}));
  close(pair.fds[1]);
  auto last = left.receive(late());
  REQUIRE(last.ok());
  CHECK(last->body == "bye");
  auto none = left.receive(late());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kPeerLost);
  const Status sent = left.send({MessageType::kHello, ""}, late());
  REQUIRE_FALSE(sent.ok());
  CHECK(sent.error().code == ErrorCode::kPeerLost);
}

TEST_CASE("a peer that goes in the middle of a message is told apart") {
  Pair pair;
  Channel left(pair.fds[0]);
  writeAll(pair.fds[1], encodeFrame({MessageType::kHello, "half"})->substr(0, 18));
  close(pair.fds[1]);
  auto none = left.receive(late());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kPeerLost);
  CHECK(none.error().nativeText.find("middle of a message") != std::string::npos);
}

TEST_CASE("a fault behind a whole message is reported after it, without more bytes") {
  Pair pair;
  Channel left(pair.fds[0]);
  writeAll(pair.fds[1], *encodeFrame({MessageType::kHello, "fine"}) + "garbage");
  auto good = left.receive(late());
  REQUIRE(good.ok());
  CHECK(good->body == "fine");
  for (int i = 0; i < 2; ++i) {
    auto bad = left.receive(late());
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().code == ErrorCode::kProtocol);
  }
  close(pair.fds[1]);
}

TEST_CASE("a stop flag ends a wait and names the signal") {
  Pair pair;
  Channel left(pair.fds[0]);
  std::atomic<int> stop{0};
  left.setStopFlag(&stop);
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(30));
    stop = SIGTERM;
  });
  auto none = left.receive(late());
  stopper.join();
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kCancelled);
  CHECK(none.error().nativeCode == SIGTERM);
  const Status sent = left.send({MessageType::kHello, ""}, late());
  REQUIRE_FALSE(sent.ok());
  CHECK(sent.error().code == ErrorCode::kCancelled);
  left.setStopFlag(nullptr);
  CHECK(left.send({MessageType::kHello, ""}, late()).ok());
  close(pair.fds[1]);
}

TEST_CASE("a channel owns its descriptor and keeps it from children") {
  Pair pair;
  {
    Channel first(pair.fds[0]);
    CHECK((fcntl(pair.fds[0], F_GETFD) & FD_CLOEXEC) != 0);
    Channel second(std::move(first));
    CHECK(second.send({MessageType::kHello, ""}, late()).ok());
  }
  CHECK(fcntl(pair.fds[0], F_GETFD) == -1);
  close(pair.fds[1]);
}
