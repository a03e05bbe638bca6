// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/child.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

using namespace gdrbench;
using namespace std::chrono_literals;

TEST_CASE("what the child answers, also more than a pipe holds") {
  CHECK(*inChild("count", 30s, [] { return std::string("three"); }) == "three");
  CHECK(inChild("count", 30s, [] { return std::string(); })->empty());
  const std::string much(1 << 20, 'x');
  CHECK(*inChild("count", 30s, [&] { return much; }) == much);
  CHECK(*inChild("count", 30s, [] { return std::to_string(::getpid()); }) !=
        std::to_string(::getpid()));
}

TEST_CASE("a child that crashes, gives up or hangs is an error, and gone") {
  const auto crashed = inChild("count", 30s, []() -> std::string {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return "";
  });
  REQUIRE_FALSE(crashed.ok());
  CHECK(crashed.error().code == ErrorCode::kCrash);
  CHECK(crashed.error().what().starts_with(
      "could not count: the process that did so ended by signal 11"));

  const auto gaveUp = inChild("count", 30s, []() -> std::string { ::_exit(3); });
  REQUIRE_FALSE(gaveUp.ok());
  CHECK(gaveUp.error().what() == "could not count: the process that did so ended with status 3");

  const auto hung = inChild("count", 50ms, []() -> std::string {
    while (true) std::this_thread::sleep_for(1s);
  });
  REQUIRE_FALSE(hung.ok());
  CHECK(hung.error().code == ErrorCode::kTimeout);
  CHECK(hung.error().what() == "could not count: no answer within 50 ms");
}
