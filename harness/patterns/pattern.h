// SPDX-License-Identifier: Apache-2.0
// A pattern is a conversation over a lane, written once for every transport. It runs one *block*
// at a time. Before a block both sides prepare their slots; the responder then sends "ready" over
// the lane's sync slot, so that both are awake and spinning when the first message goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "harness/core/clock.h"
#include "harness/core/option.h"
#include "harness/core/result.h"
#include "harness/patterns/guard.h"
#include "transports/transport.h"

namespace gdrbench {

enum class Direction { kUni, kBi };

/// The same on both sides.
struct Block {
  SlotLayout layout;
  std::uint64_t bytes = 0;     ///< of each message
  std::uint32_t messages = 0;  ///< recorded ones
  std::uint32_t leadIn = 0;    ///< before them: sent and checked, not recorded
  std::uint32_t window = 1;
  std::uint32_t batch = 1;
  Direction direction = Direction::kUni;
  DataFlow flow = DataFlow::kPush;
  std::uint32_t sequence = 0;  ///< number of this block on its lane

  /// Message i of a block uses slot i modulo layout.count.
  [[nodiscard]] std::uint32_t total() const noexcept { return leadIn + messages; }
};

/// What a pattern needs to run on.
struct Stage {
  Lane& lane;
  const Clock& clock;
  Guard& guard;
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// True when each message is stamped by itself (ping-pong): `samples` are then filled.
  [[nodiscard]] virtual bool stampsMessages() const = 0;

  /// Which side receives data messages in a block: the buffers to fill and to check.
  [[nodiscard]] virtual bool initiatorReceives(const Block& block) const = 0;
  [[nodiscard]] virtual bool responderReceives(const Block& block) const = 0;

  /// The initiator's side. Answers the ticks from the first recorded stamp to the event that says
  /// that everything has arrived. `samples` holds block.messages entries; untouched by patterns
  /// that do not stamp messages.
  virtual Result<Ticks> initiate(const Stage& stage, const Block& block,
                                 std::span<Ticks> samples) const = 0;

  /// The responder's side.
  virtual Status respond(const Stage& stage, const Block& block) const = 0;
};

struct PatternEntry {
  std::string_view name;
  std::string_view summary;
  OptionTable options;  ///< `sizes` is common to all and not in here
  std::unique_ptr<Pattern> (*make)();
};

/// ping-pong, stream.
std::span<const PatternEntry> patternEntries();
const PatternEntry* findPattern(std::string_view name);

}  // namespace gdrbench
