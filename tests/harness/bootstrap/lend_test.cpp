// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/lend.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

using namespace gdrbench;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

std::string freshName() {
  static int count = 0;
  return fmt::format("gdrbench-lend-test-{}-{}", getpid(), ++count);
}

struct Pair {
  Pair() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    near.emplace(fds[0]);
    far.emplace(fds[1]);
  }
  std::optional<Channel> near, far;
};

TimePoint soon() {
  return steady_clock::now() + seconds(10);
}

}  // namespace

TEST_CASE("a lent channel speaks for its owner, and the status comes back") {
  const std::string name = freshName();
  Pair pair;
  Result<int> status = -1;
  std::thread lender([&] { status = lendChannel(*std::move(pair.far), name, soon()); });
  auto loan = BorrowedChannel::await(name, soon());
  REQUIRE(loan.ok());
  REQUIRE(loan->channel().send({MessageType::kHello, "{}"}, soon()).ok());
  const auto heard = pair.near->receive(soon());
  REQUIRE(heard.ok());
  CHECK(heard->body == "{}");
  loan->giveBack(7);
  lender.join();
  REQUIRE(status.ok());
  CHECK(*status == 7);
}

TEST_CASE("a loan that is dropped tells the lender that it failed") {
  const std::string name = freshName();
  Pair pair;
  Result<int> status = -1;
  std::thread lender([&] { status = lendChannel(*std::move(pair.far), name, soon()); });
  { auto loan = BorrowedChannel::await(name, soon()); }
  lender.join();
  REQUIRE(status.ok());
  CHECK(*status == 1);
}

TEST_CASE("a side that never comes is waited for until the deadline") {
  Pair pair;
  const auto deadline = steady_clock::now() + milliseconds(50);
  const auto loan = BorrowedChannel::await(freshName(), deadline);
  REQUIRE_FALSE(loan.ok());
  CHECK(loan.error().code == ErrorCode::kTimeout);
  const auto status = lendChannel(*std::move(pair.far), freshName(), deadline);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kTimeout);
}
