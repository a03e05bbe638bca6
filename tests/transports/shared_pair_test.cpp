// SPDX-License-Identifier: Apache-2.0
#include "transports/shared_pair.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "transports/fifo.h"

namespace gdrbench {

TEST_CASE("fifo wraps and pads") {
  std::byte ring[64];
  FifoCounters counters;
  FifoWriter writer(counters, ring, sizeof(ring));
  FifoReader reader(counters, ring, sizeof(ring));
  const char text[] = "0123456789abcdefghijklmnopqrstuvwxyzABC";  // 40 bytes, padded to 48
  for (int round = 0; round < 5; ++round) {
    REQUIRE(writer.room() == 64);
    writer.put(text, sizeof(text));
    CHECK(writer.room() == 16);
    reader.look();
    CHECK(reader.available() == 0);
    writer.publish();
    reader.look();
    REQUIRE(reader.available() == 48);
    char got[sizeof(text)] = {};
    reader.take(got, sizeof(got));
    CHECK(std::strcmp(got, text) == 0);
    reader.publish();
    writer.look();
  }
}

TEST_CASE("attach finds only the memory that the address tells of") {
  Result<std::shared_ptr<SharedPair>> pair = SharedPair::create("test", 4096);
  REQUIRE(pair.ok());
  PairAddress address = (*pair)->address();
  CHECK(SharedPair::attach("test", address).ok());

  PairAddress wrongCookie = address;
  wrongCookie.cookie[3] ^= std::byte{1};
  CHECK(SharedPair::attach("test", wrongCookie).error().code == ErrorCode::kMismatch);
  PairAddress wrongSize = address;
  wrongSize.fifoBytes = 8192;
  CHECK(SharedPair::attach("test", wrongSize).error().code == ErrorCode::kMismatch);
  PairAddress gone = address;
  gone.fd = 1 << 20;
  const Result<std::shared_ptr<SharedPair>> nothing = SharedPair::attach("test", gone);
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.error().what().find(gone.path()) != std::string::npos);
  CHECK((*pair)->peerClosed());  // the one that attached has gone again
}

TEST_CASE("two processes meet over the memory of one") {
  Result<std::shared_ptr<SharedPair>> pair = SharedPair::create("test", 4096);
  REQUIRE(pair.ok());
  const PairAddress address = (*pair)->address();
  const pid_t child = fork();
  if (child == 0) {
    // The child's copy of the parent's object must not close the responder's side.
    Result<std::shared_ptr<SharedPair>> mine = SharedPair::attach("test", address);
    if (!mine) _exit(1);
    if (!(*mine)->meet(std::chrono::steady_clock::now() + std::chrono::seconds(5))) _exit(2);
    FifoWriter writer = (*mine)->writer();
    writer.put("hello", 6);
    writer.publish();
    _exit(0);
  }
  REQUIRE(child > 0);
  CHECK((*pair)->meet(std::chrono::steady_clock::now() + std::chrono::seconds(5)).ok());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  FifoReader reader = (*pair)->reader();
  reader.look();
  REQUIRE(reader.available() == 16);
  char text[6] = {};
  reader.take(text, sizeof(text));
  CHECK(std::string(text) == "hello");
}

}  // namespace gdrbench
