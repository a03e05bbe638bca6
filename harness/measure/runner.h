// SPDX-License-Identifier: Apache-2.0
// The initiator's plan of a measurement: warm up until steady, measure until there is enough, in
// chunks of blocks. Knows rules and numbers; blocks and the other side are behind BlockSource.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/result.h"
#include "harness/core/summary.h"
#include "harness/measure/recorder.h"
#include "harness/measure/stopping_rule.h"

namespace gdrbench {

enum class MeasurePhase { kWarmup, kMeasure };
std::string_view name(MeasurePhase phase);

/// Blocks that are run one after the other with nothing between them but preparing and checking.
struct Chunk {
  MeasurePhase phase = MeasurePhase::kWarmup;
  std::uint64_t blocks = 0;
  std::uint32_t messages = 0;  ///< recorded, in each block
  std::uint32_t leadIn = 0;    ///< not recorded, in each block
};

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Tells the other side; before the blocks of the chunk.
  virtual Status begin(const Chunk& chunk) = 0;
  /// Runs one block of it: ticks from the first recorded stamp to the end. `samples` has
  /// chunk.messages entries, filled when the pattern stamps messages.
  virtual Result<Ticks> block(const Chunk& chunk, std::span<Ticks> samples) = 0;
};

struct MeasureRequest {
  WarmupRule warmup;
  StopRule stop;
  std::uint32_t blockMessages = 0;  ///< of a full block
  std::uint32_t leadIn = 0;
  bool stampsMessages = true;
  std::uint64_t bytesPerMessage = 0;  ///< counted for the rate: both directions of a message slot
  std::uint64_t countPerMessage = 1;  ///< 2 when both sides send
};

/// Filled as far as it went: complete when there is no error.
struct Measurement {
  std::optional<Error> error;
  std::optional<StopReason> reason;
  bool steady = false;
  std::uint64_t warmupMessages = 0;
  double warmupSeconds = 0;
  std::optional<double> firstMessageNs;
  std::uint64_t messages = 0;
  double measureSeconds = 0;
  double timedSeconds = 0;  ///< of it, in which messages moved: without preparing and checking
  std::optional<LatencySummary> latency;
  std::optional<RateSummary> rate;
  std::vector<double> samplesNs;  ///< the first ones, at most as many as asked for
};

/// `rawSamples`: how many of the first samples to hand out.
Measurement measure(const MeasureRequest& request, const Clock& clock, BlockSource& source,
                    std::uint64_t rawSamples);

}  // namespace gdrbench
