// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/patterns/pattern.h"

namespace gdrbench {

/// One message there, one of the same size back; a sample is the round trip, from the stamp before
/// submit to the event that the reply has arrived. With DataFlow::kPull a sample is one fetch
/// by the initiator: the full operation, and the responder only keeps its side going.
class PingPong final : public Pattern {
 public:
  [[nodiscard]] std::string_view name() const override { return "ping-pong"; }
  [[nodiscard]] bool stampsMessages() const override { return true; }
  [[nodiscard]] bool initiatorReceives(const Block& block) const override;
  [[nodiscard]] bool responderReceives(const Block& block) const override;
  Result<Ticks> initiate(const Stage& stage, const Block& block,
                         std::span<Ticks> samples) const override;
  Status respond(const Stage& stage, const Block& block) const override;
};

}  // namespace gdrbench
