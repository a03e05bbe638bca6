// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/runner.h"

#include <doctest/doctest.h>

#include <vector>

using namespace gdrbench;

namespace {

/// Blocks that take no time; samples as the test wants them.
class FakeBlocks final : public BlockSource {
 public:
  Status begin(const Chunk& chunk) override {
    chunks.push_back(chunk);
    return Done{};
  }
  Result<Ticks> block(const Chunk& chunk, std::span<Ticks> samples) override {
    if (++blocks > failAfter) {
      return Error{.code = ErrorCode::kTimeout, .tried = "finish the block in time"};
    }
    for (Ticks& sample : samples) sample = delayed-- > 0 ? 5'000'000 : 1000;
    for (const Ticks sample : samples) total += sample;
    return chunk.messages * Ticks{1000};
  }
  std::vector<Chunk> chunks;
  std::uint64_t blocks = 0, failAfter = ~std::uint64_t{0};
  Ticks total = 0;
  long delayed = 0;
};

MeasureRequest requestFor(std::uint64_t iterations) {
  MeasureRequest request;
  request.warmup = {0, 0, 0};
  request.stop.iterations = iterations;
  request.blockMessages = 100;
  request.leadIn = 4;
  request.bytesPerMessage = 64;
  return request;
}

}  // namespace

TEST_CASE("exactly as many iterations as were asked for, in whole blocks and a rest") {
  for (const std::uint64_t iterations : {1u, 2u, 99u, 100u, 101u, 1000u, 1001u}) {
    FakeBlocks blocks;
    const Measurement result = measure(requestFor(iterations), Clock::monotonic(), blocks, 10);
    CAPTURE(iterations);
    REQUIRE_FALSE(result.error);
    CHECK(result.messages == iterations);
    CHECK(result.latency->n == iterations);
    CHECK(*result.reason == StopReason::kIterations);
    CHECK(result.samplesNs.size() == std::min<std::uint64_t>(iterations, 10));
  }
}

TEST_CASE("the cold first message is reported apart, and measured only without a warm-up") {
  FakeBlocks cold;
  cold.delayed = 1;
  const Measurement without = measure(requestFor(500), Clock::monotonic(), cold, 0);
  CHECK(*without.firstMessageNs == 5'000'000);
  CHECK(without.latency->max == 5'000'000);
  CHECK(without.warmupMessages == 0);
  CHECK(cold.chunks.front().leadIn == 0);

  FakeBlocks warmed;
  warmed.delayed = 50;
  MeasureRequest request = requestFor(500);
  request.warmup = {100, 0, 1'000'000'000};
  const Measurement with = measure(request, Clock::monotonic(), warmed, 0);
  CHECK(*with.firstMessageNs == 5'000'000);
  CHECK(with.latency->max == 1000);
  CHECK(with.latency->mean == 1000);
  CHECK(with.warmupMessages >= 100);
  CHECK(with.steady);
}

TEST_CASE("a failure keeps what was measured before it") {
  FakeBlocks blocks;
  blocks.failAfter = 7;
  const Measurement result = measure(requestFor(5'000'000'000), Clock::monotonic(), blocks, 0);
  REQUIRE(result.error);
  CHECK(result.error->code == ErrorCode::kTimeout);
  CHECK_FALSE(result.reason);
  CHECK(result.messages == 700);
  CHECK(result.latency->n == 700);
}

TEST_CASE("a stream has a rate and no latency") {
  FakeBlocks blocks;
  MeasureRequest request = requestFor(1000);
  request.stampsMessages = false;
  request.bytesPerMessage = 128;
  request.countPerMessage = 2;
  const Measurement result = measure(request, Clock::monotonic(), blocks, 10);
  REQUIRE_FALSE(result.error);
  CHECK_FALSE(result.latency);
  REQUIRE(result.rate);
  CHECK(result.rate->messages == 2000);
  CHECK(result.rate->bytes == 128'000);
  CHECK(result.rate->messagesPerSecond == doctest::Approx(2e6));
  CHECK(result.samplesNs.empty());
}

TEST_CASE("stop decisions") {
  const StopRule rule{.precision = 0.01, .minTimeNs = 100, .maxTimeNs = 1000};
  CHECK_FALSE(StopDecision(rule).check({10, 50, 0, 0.001}));      // too early
  CHECK_FALSE(StopDecision(rule).check({10, 200, 3688, 0.001}));  // too few samples
  CHECK(StopDecision(rule).check({4000, 200, 3688, 0.001}) == StopReason::kPrecision);
  CHECK(StopDecision(rule).check({10, 1000, 3688, {}}) == StopReason::kMaxTime);
  CHECK_FALSE(StopDecision(rule).check({4000, 200, 3688, 0.05}));
  StopDecision stuck(rule);
  for (int i = 0; i < 4; ++i) CHECK_FALSE(stuck.check({4000, 200, 3688, 0.05}));
  CHECK(stuck.check({4000, 200, 3688, 0.05}) == StopReason::kNoiseFloor);
  StopDecision improving(rule);
  for (double p = 0.5; p > 0.02; p *= 0.9) CHECK_FALSE(improving.check({4000, 200, 3688, p}));
  StopRule counted = rule;
  counted.iterations = 5'000'000'000;
  CHECK_FALSE(StopDecision(counted).check({4'999'999'999, 1'000'000, 0, 0.0}));
  CHECK(StopDecision(counted).check({5'000'000'000, 1, 0, {}}) == StopReason::kIterations);
}

TEST_CASE("a warm-up ends when it is steady, or at its cap") {
  SteadyState steady({100, 50, 1000});
  for (int i = 0; i < 8; ++i) steady.add(100 + i % 2 * 0.1);
  CHECK(steady.steady());
  CHECK_FALSE(steady.done(99, 60));
  CHECK_FALSE(steady.done(100, 49));
  CHECK(steady.done(100, 50));
  SteadyState climbing({0, 0, 1000});
  for (int i = 0; i < 8; ++i) climbing.add(100 + i * 0.1);
  CHECK_FALSE(climbing.steady());
  CHECK_FALSE(climbing.done(1000, 999));
  CHECK(climbing.done(0, 1000));
  SteadyState jumping({0, 0, 1000});
  for (int i = 0; i < 8; ++i) jumping.add(i % 2 == 0 ? 100 : 102);
  CHECK_FALSE(jumping.steady());
}
