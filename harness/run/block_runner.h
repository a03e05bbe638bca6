// SPDX-License-Identifier: Apache-2.0
// One side's blocks: prepare the slots, run the pattern, check every byte that came.
#pragma once

#include <cstdint>
#include <span>

#include "harness/core/clock.h"
#include "harness/core/result.h"
#include "harness/memory/memory_space.h"
#include "harness/patterns/guard.h"
#include "harness/patterns/pattern.h"
#include "harness/run/case.h"

namespace gdrbench {

/// What has been checked on this side.
struct CheckCount {
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t received = 0;  ///< data messages that came, checked or not
  std::uint64_t sent = 0;      ///< data messages of this side
};

class BlockRunner {
 public:
  struct Parts {
    const Case& testCase;
    const BlockPlan& plan;
    const Pattern& pattern;
    DataFlow flow;
    Role role;
    std::uint64_t seed;
    MemorySpace& space;
    Buffer& source;
    Buffer& target;
  };

  BlockRunner(Parts parts, Lane& lane, const Clock& clock, Guard& guard);

  /// A data fault is a kData error that names direction, message, offset and bytes.
  Result<Ticks> run(std::uint32_t messages, std::uint32_t leadIn, std::span<Ticks> samples);

  [[nodiscard]] const CheckCount& checked() const { return checked_; }
  [[nodiscard]] const Parts& parts() const { return parts_; }

 private:
  Status prepare(const Block& block);
  Status verify(const Block& block);
  [[nodiscard]] bool receives(const Block& block) const;
  [[nodiscard]] bool sends(const Block& block) const;
  [[nodiscard]] SlotRun slotsOf(const Block& block) const;

  Parts parts_;
  Stage stage_;
  DataPattern outgoing_, incoming_;
  std::uint32_t sequence_ = 0;
  std::uint64_t firstMessage_ = 0;  ///< number of the next block's first message
  CheckCount checked_;
};

}  // namespace gdrbench
