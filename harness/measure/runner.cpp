// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/runner.h"

#include <algorithm>
#include <vector>

#include "harness/measure/statistics.h"

namespace gdrbench {
namespace {

constexpr double kShortestChunkNs = 10e6;
constexpr double kLongestChunkNs = 250e6;
/// Samples that the highest percentile of the report (p99.9) needs.
constexpr std::uint64_t kSampleFloor = 3688;

class Runner {
 public:
  Runner(const MeasureRequest& request, const Clock& clock, BlockSource& source)
      : request_(request), clock_(clock), source_(source), samples_(request.blockMessages) {}

  void warmUp(Measurement& result) {
    if (request_.warmup.maxTimeNs == 0) return;
    SteadyState steady(request_.warmup);
    const Ticks start = clock_.now();
    Chunk chunk{MeasurePhase::kWarmup, 1, request_.blockMessages, 0};
    while (!steady.done(result.warmupMessages, since(start))) {
      const Ticks before = clock_.now();
      if (!runChunk(chunk, result)) break;
      result.warmupMessages += chunk.blocks * chunk.messages;
      steady.add(median(chunkValues_));
      if (clock_.nanoseconds(clock_.now() - before) < kShortestChunkNs / 2) chunk.blocks *= 2;
      chunk.leadIn = request_.leadIn;
    }
    result.steady = steady.steady();
    result.warmupSeconds = static_cast<double>(since(start)) / 1e9;
  }

  void measure(Measurement& result) {
    StopDecision decision(request_.stop);
    const Ticks start = clock_.now();
    while (!result.error && !result.reason) {
      if (!runChunk(nextChunk(result.messages, static_cast<double>(since(start))), result)) break;
      result.messages = request_.stampsMessages ? recorder_.count() : streamed_;
      result.reason = decision.check(progress(result.messages, since(start)));
    }
    result.messages = request_.stampsMessages ? recorder_.count() : streamed_;
    result.measureSeconds = static_cast<double>(since(start)) / 1e9;
  }

  void summarise(Measurement& result, std::uint64_t rawSamples) const {
    if (!request_.stampsMessages) {
      result.rate = rates_.summary(clock_);
      return;
    }
    result.latency = recorder_.summary(clock_);
    const auto raw = recorder_.raw();
    const std::size_t kept = std::min<std::uint64_t>(raw.size(), rawSamples);
    result.samplesNs.reserve(kept);
    for (const Ticks sample : raw.first(kept)) {
      result.samplesNs.push_back(clock_.nanoseconds(sample));
    }
  }

 private:
  [[nodiscard]] std::int64_t since(Ticks start) const {
    return static_cast<std::int64_t>(clock_.nanoseconds(clock_.now() - start));
  }

  /// Each chunk is half as long as everything before it, so that the rule is asked at counts that
  /// grow by 1.5; and short enough that a chunk never overruns the maximum time by much.
  [[nodiscard]] Chunk nextChunk(std::uint64_t measured, double elapsedNs) const {
    Chunk chunk{MeasurePhase::kMeasure, 1, request_.blockMessages, request_.leadIn};
    // Without a warm-up the first sample is the cold one, and has to be seen.
    if (request_.warmup.maxTimeNs == 0 && measured == 0) chunk.leadIn = 0;
    const double target = std::clamp(elapsedNs / 2, kShortestChunkNs, kLongestChunkNs);
    if (blockNs_ > 0) {
      chunk.blocks = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(target / blockNs_));
    }
    if (request_.stop.iterations) {
      const std::uint64_t left = *request_.stop.iterations - measured;
      chunk.messages = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk.messages, left));
      chunk.blocks = std::min(chunk.blocks, left / chunk.messages);
    }
    return chunk;
  }

  bool runChunk(const Chunk& chunk, Measurement& result) {
    chunkValues_.clear();
    const Ticks start = clock_.now();
    if (Status begun = source_.begin(chunk); !begun) {
      result.error = std::move(begun).error();
      return false;
    }
    for (std::uint64_t i = 0; i < chunk.blocks; ++i) {
      const std::span<Ticks> samples = std::span(samples_).first(chunk.messages);
      Result<Ticks> elapsed = source_.block(chunk, samples);
      if (!elapsed) {
        result.error = std::move(elapsed).error();
        return false;
      }
      take(chunk, samples, *elapsed, result);
    }
    blockNs_ = clock_.nanoseconds(clock_.now() - start) / static_cast<double>(chunk.blocks);
    return true;
  }

  void take(const Chunk& chunk, std::span<const Ticks> samples, Ticks elapsed,
            Measurement& result) {
    if (chunk.phase == MeasurePhase::kMeasure) {
      result.timedSeconds += clock_.nanoseconds(elapsed) / 1e9;
    }
    if (request_.stampsMessages) {
      if (!result.firstMessageNs) result.firstMessageNs = clock_.nanoseconds(samples.front());
      values_.assign(samples.begin(), samples.end());
      chunkValues_.push_back(median(values_));
      if (chunk.phase == MeasurePhase::kMeasure) recorder_.add(samples);
      return;
    }
    chunkValues_.push_back(static_cast<double>(elapsed) / chunk.messages);
    if (chunk.phase == MeasurePhase::kMeasure) {
      streamed_ += chunk.messages;
      rates_.add(chunk.messages * request_.countPerMessage,
                 chunk.messages * request_.bytesPerMessage, elapsed);
    }
  }

  [[nodiscard]] Progress progress(std::uint64_t messages, std::int64_t elapsedNs) const {
    return {messages, elapsedNs, request_.stampsMessages ? kSampleFloor : 0,
            request_.stampsMessages ? recorder_.precision() : rates_.precision()};
  }

  const MeasureRequest& request_;
  const Clock& clock_;
  BlockSource& source_;
  Recorder recorder_;
  RateRecorder rates_;
  std::uint64_t streamed_ = 0;
  std::vector<Ticks> samples_;
  std::vector<double> values_, chunkValues_;
  double blockNs_ = 0;
};

}  // namespace

std::string_view name(MeasurePhase phase) {
  return phase == MeasurePhase::kWarmup ? "warm-up" : "measure";
}

Measurement measure(const MeasureRequest& request, const Clock& clock, BlockSource& source,
                    std::uint64_t rawSamples) {
  Measurement result;
  Runner runner(request, clock, source);
  runner.warmUp(result);
  if (!result.error) runner.measure(result);
  runner.summarise(result, rawSamples);
  return result;
}

}  // namespace gdrbench
