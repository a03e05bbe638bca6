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

struct Ends {
  Ends() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    near.emplace(fds[0]);
    far.emplace(fds[1]);
  }
  std::optional<Channel> near, far;
};

TimePoint inTenSeconds() {
  return steady_clock::now() + seconds(10);
}

}  // namespace

TEST_CASE("a lent channel speaks for its owner, and the status comes back") {
  const std::string name = freshName();
  Ends ends;
  Result<int> status = -1;
  std::thread lender([&] { status = lendChannel(*std::move(ends.far), name, inTenSeconds()); });
  auto loan = BorrowedChannel::await(name, inTenSeconds());
  REQUIRE(loan.ok());
  REQUIRE(loan->channel().send({MessageType::kHello, "{}"}, inTenSeconds()).ok());
  const auto heard = ends.near->receive(inTenSeconds());
  REQUIRE(heard.ok());
  CHECK(heard->body == "{}");
  loan->giveBack(7);
  lender.join();
  REQUIRE(status.ok());
  CHECK(*status == 7);
}

TEST_CASE("a loan that is dropped tells the lender that it failed") {
  const std::string name = freshName();
  Ends ends;
  Result<int> status = -1;
  std::thread lender([&] { status = lendChannel(*std::move(ends.far), name, inTenSeconds()); });
  { auto loan = BorrowedChannel::await(name, inTenSeconds()); }
  lender.join();
  REQUIRE(status.ok());
  CHECK(*status == 1);
}

TEST_CASE("a side that never comes is waited for until the deadline") {
  Ends ends;
  const auto deadline = steady_clock::now() + milliseconds(50);
  const auto loan = BorrowedChannel::await(freshName(), deadline);
  REQUIRE_FALSE(loan.ok());
  CHECK(loan.error().code == ErrorCode::kTimeout);
  const auto status = lendChannel(*std::move(ends.far), freshName(), deadline);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kTimeout);
}
