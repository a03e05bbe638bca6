// SPDX-License-Identifier: Apache-2.0
#include "harness/core/error.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include "harness/core/result.h"

using namespace gdrbench;

TEST_CASE("an error reads as one line, with what is absent left out") {
  Error error{.code = ErrorCode::kSystem,
              .tried = "bind 127.0.0.1:7471",
              .nativeCode = 98,
              .nativeText = "Address already in use",
              .next = "choose another port"};
  CHECK(error.what() ==
        "could not bind 127.0.0.1:7471: Address already in use (98); choose another port");
  error.next.clear();
  CHECK(error.what() == "could not bind 127.0.0.1:7471: Address already in use (98)");
  error.nativeCode = 0;
  CHECK(error.what() == "could not bind 127.0.0.1:7471: Address already in use");
  error.nativeText.clear();
  CHECK(error.what() == "could not bind 127.0.0.1:7471");
  error.nativeCode = -22;
  CHECK(error.what() == "could not bind 127.0.0.1:7471 (-22)");
}

TEST_CASE("errors of the user's text are printed as they stand") {
  for (const ErrorCode code : {ErrorCode::kUsage, ErrorCode::kConfig}) {
    Error error{.code = code, .tried = "'7x' is not a whole number"};
    CHECK(error.what() == "'7x' is not a whole number");
    error.next = "write decimal digits only";
    CHECK(error.what() == "'7x' is not a whole number; write decimal digits only");
  }
}

TEST_CASE("each code has a word of its own that leads back to it") {
  std::set<std::string_view> words;
  const int last = static_cast<int>(ErrorCode::kInternal);
  for (int i = 0; i <= last; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CHECK(errorCodeNamed(name(code)) == code);
    words.insert(name(code));
  }
  CHECK(words.size() == static_cast<std::size_t>(last) + 1);
  CHECK(name(ErrorCode::kTimeout) == "timeout");
  CHECK(name(ErrorCode::kPeerLost) == "peer_lost");
  CHECK(errorCodeNamed("no such word") == ErrorCode::kInternal);
  CHECK(errorCodeNamed("") == ErrorCode::kInternal);
}

TEST_CASE("a failed system call keeps its number and text") {
  const Error refused = systemError("connect to node7:7471", ECONNREFUSED, "start the other side");
  CHECK(refused.code == ErrorCode::kSystem);
  CHECK(refused.nativeCode == ECONNREFUSED);
  CHECK(refused.what() ==
        "could not connect to node7:7471: Connection refused (111); start the other side");
  CHECK(systemError("open x", EACCES).code == ErrorCode::kPermission);
  CHECK(systemError("lock memory", EPERM).code == ErrorCode::kPermission);
  CHECK(systemError("allocate", ENOMEM).code == ErrorCode::kNoMemory);
}

TEST_CASE("who is stopped says by what") {
  CHECK(stoppedError("wait", 15).what() == "could not wait: told to stop by a signal (15)");
  CHECK(stoppedError("wait", 15).code == ErrorCode::kCancelled);
  const Error left = stoppedError("wait", kStopOtherSide);
  CHECK(left.what() == "could not wait: the other side, in the same process, has failed");
  CHECK(left.code == ErrorCode::kPeerLost);
}

TEST_CASE("a result holds a value or an error") {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(7));
  REQUIRE(value.ok());
  CHECK(**value == 7);
  const std::unique_ptr<int> taken = *std::move(value);
  CHECK(*taken == 7);

  const Result<std::string> failure(Error{.code = ErrorCode::kTimeout, .tried = "wait"});
  CHECK_FALSE(failure.ok());
  CHECK_FALSE(static_cast<bool>(failure));
  CHECK(failure.error().code == ErrorCode::kTimeout);

  CHECK(Status(Done{}).ok());
  CHECK_FALSE(Status(Error{}).ok());
}
