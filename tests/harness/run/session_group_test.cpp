// SPDX-License-Identifier: Apache-2.0
// Cases at the same time whose workers cannot start, or never speak. What workers that do speak
// bring about is tested with the built programs, in tests/e2e.
#include "harness/run/session_group.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/run/options.h"
#include "harness/run/plan.h"

namespace gdrbench {
namespace {

const Registry& knownTransports() {
  static const Registry all = builtinTransports();
  return all;
}

/// One case, which may take 300 ms.
Case shortCase() {
  auto config = config::loadText(catalogue(knownTransports()),
                                 "transports: [tcp]\npatterns: [ping-pong: {sizes: [8]}]\n"
                                 "timeout: 300ms\nwarmup: {max_time: 50ms}\n"
                                 "stop: {min_time: 10ms, max_time: 50ms}\n",
                                 "test.yaml", {});
  REQUIRE_MESSAGE(config, config.error().what());
  auto plan = makePlan(*config, knownTransports());
  REQUIRE_MESSAGE(plan, plan.error().what());
  return plan->cases.front();
}

/// An executable that stands still whatever it is told.
class StandsStill {
 public:
  StandsStill() {
    const int file = mkstemp(path_.data());
    REQUIRE(file >= 0);
    constexpr std::string_view kScript = "#!/bin/sh\nexec sleep 60\n";
    REQUIRE(write(file, kScript.data(), kScript.size()) == static_cast<ssize_t>(kScript.size()));
    REQUIRE(fchmod(file, 0700) == 0);
    close(file);
  }
  ~StandsStill() { unlink(path_.c_str()); }
  StandsStill(const StandsStill&) = delete;
  StandsStill& operator=(const StandsStill&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/gdrbench-test-stands-still-XXXXXX";
};

const report::SideError& causeOf(const SessionResult& result) {
  REQUIRE_FALSE(result.run.outcome.errors.empty());
  return result.run.outcome.errors.front();
}

}  // namespace

TEST_CASE("a case whose workers cannot start says so, and the others of its group go on") {
  const Case testCase = shortCase();
  const Clock clock = Clock::calibrate();
  const StandsStill still;
  const auto request = [&](const std::string& program, const char* prefix) {
    return SessionRequest{.registry = knownTransports(),
                          .testCase = testCase,
                          .clock = clock,
                          .program = program,
                          .namePrefix = prefix};
  };
  const std::string nowhere = "/there/is/no/such/program";
  const SessionRequest group[] = {request(still.path(), "gdrbench-test-a-"),
                                  request(nowhere, "gdrbench-test-b-"),
                                  request(nowhere, "gdrbench-test-c-")};
  const auto results = runSessions(group);

  REQUIRE(results.size() == 3);
  for (const SessionResult& result : results) {
    CHECK(result.run.outcome.kind == report::OutcomeKind::kFailed);
    CHECK_FALSE(result.interrupted);
    CHECK_FALSE(result.measured);
  }
  // The first was given its time, although the others had failed at once.
  CHECK(causeOf(results[0]).error.code == ErrorCode::kTimeout);
  for (const std::size_t absent : {1u, 2u}) {
    CHECK(causeOf(results[absent]).side == "conductor");
    CHECK(causeOf(results[absent]).error.what().find(nowhere) != std::string::npos);
  }
  const bool childrenLeft = waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
  CHECK_FALSE(childrenLeft);
}

}  // namespace gdrbench
