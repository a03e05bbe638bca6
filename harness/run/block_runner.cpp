// SPDX-License-Identifier: Apache-2.0
#include "harness/run/block_runner.h"

#include <fmt/format.h>

#include <algorithm>

namespace gdrbench {
namespace {

/// Each direction carries a pattern of its own: what one side sent cannot pass for what it got.
std::uint64_t seedFrom(std::uint64_t seed, Role sender) {
  return seed * 2 + (sender == Role::kInitiator ? 0 : 1);
}

Role other(Role role) {
  return role == Role::kInitiator ? Role::kResponder : Role::kInitiator;
}

}  // namespace

BlockRunner::BlockRunner(Parts parts, Lane& lane, const Clock& clock, Guard& guard)
    : parts_(parts),
      stage_{lane, clock, guard},
      outgoing_(seedFrom(parts.seed, parts.role)),
      incoming_(seedFrom(parts.seed, other(parts.role))) {}

Result<Ticks> BlockRunner::run(std::uint32_t messages, std::uint32_t leadIn,
                               std::span<Ticks> samples) {
  const BlockPlan& plan = parts_.plan;
  const Block block{.layout = plan.layout,
                    .bytes = parts_.testCase.bytes,
                    .messages = messages,
                    .leadIn = leadIn,
                    .window = plan.window,
                    .batch = plan.batch,
                    .direction = parts_.testCase.direction,
                    .flow = parts_.flow,
                    .sequence = sequence_++};
  if (Status ready = prepare(block); !ready) return ready.error();
  Ticks elapsed = 0;
  if (parts_.role == Role::kInitiator) {
    Result<Ticks> timed = parts_.pattern.initiate(stage_, block, samples);
    if (!timed) return timed.error();
    elapsed = *timed;
  } else if (Status served = parts_.pattern.respond(stage_, block); !served) {
    return served.error();
  }
  if (sends(block)) checked_.sent += block.total();
  if (Status good = verify(block); !good) return good.error();
  firstMessage_ += block.total();
  return elapsed;
}

bool BlockRunner::receives(const Block& block) const {
  return parts_.role == Role::kInitiator ? parts_.pattern.initiatorReceives(block)
                                         : parts_.pattern.responderReceives(block);
}

bool BlockRunner::sends(const Block& block) const {
  return parts_.role == Role::kInitiator ? parts_.pattern.responderReceives(block)
                                         : parts_.pattern.initiatorReceives(block);
}

/// The last messages of the block: as many as there are slots. Without verification of all a block
/// goes round its slots several times and these are the ones that are still there.
SlotRun BlockRunner::slotsOf(const Block& block) const {
  const std::uint32_t held = std::min(block.total(), block.layout.count);
  return {block.layout, 0, held, block.bytes, firstMessage_};
}

Status BlockRunner::prepare(const Block& block) {
  // Without a check it is filled once, so that what is moved is never an untouched page.
  const bool checks = parts_.testCase.verify != Verify::kOff;
  if (sends(block) && (checks || block.sequence == 0)) {
    if (Status filled = parts_.space.fill(parts_.source, slotsOf(block), outgoing_); !filled) {
      return filled;
    }
  }
  if (!checks || !receives(block)) return Done{};
  return parts_.space.poison(parts_.target, slotsOf(block), incoming_);
}

Status BlockRunner::verify(const Block& block) {
  if (!receives(block)) return Done{};
  checked_.received += block.total();
  if (parts_.testCase.verify == Verify::kOff) return Done{};
  const SlotRun run = slotsOf(block);
  const auto compared = parts_.space.verify(parts_.target, run, incoming_);
  if (!compared) return compared.error();
  if (const auto& fault = *compared) {
    return Error{
        .code = ErrorCode::kData,
        .tried = fmt::format("find the bytes that the {} sent in the {}'s memory",
                             name(other(parts_.role)), name(parts_.role)),
        .nativeText = fmt::format("{}, in block {}", fault->what(block.bytes), block.sequence)};
  }
  checked_.messages += run.count;
  checked_.bytes += run.count * run.bytes;
  return Done{};
}

}  // namespace gdrbench
