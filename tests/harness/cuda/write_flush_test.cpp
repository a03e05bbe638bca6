// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/write_flush.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_cuda.h"

using namespace gdrbench::cuda;

namespace {

WriteFlush flushOf(const fake::Machine& machine) {
  fake::reset(machine);
  auto device = openDevice("0");
  REQUIRE(device);
  return WriteFlush(*std::move(device));
}

bool says(const WriteFlush& flush, std::string_view words) {
  CAPTURE(flush.describe());
  return flush.describe().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("writes that are ordered for the GPU are not flushed") {
  WriteFlush flush = flushOf({});
  const auto before = fake::counters().flushes;
  REQUIRE(flush.run());
  CHECK(fake::counters().flushes == before);
  CHECK(says(flush, "ordered for the GPU that owns the memory: no flush"));
}

TEST_CASE("others are, each time, and the report says how often and how long") {
  WriteFlush flush = flushOf({.orderedWrites = false});
  CHECK(says(flush, "to be flushed before each check"));
  const auto before = fake::counters().flushes;
  REQUIRE(flush.run());
  REQUIRE(flush.run());
  CHECK(fake::counters().flushes == before + 2);
  CHECK(says(flush, "2 times"));
  CHECK(says(flush, "outside the timed part"));
}

TEST_CASE("where the host cannot flush, the report says so") {
  WriteFlush flush = flushOf({.orderedWrites = false, .canFlush = false});
  const auto before = fake::counters().flushes;
  REQUIRE(flush.run());
  CHECK(fake::counters().flushes == before);
  CHECK(says(flush, "cannot flush"));
}
