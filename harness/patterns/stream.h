// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/patterns/pattern.h"

namespace gdrbench {

/// `window` messages outstanding, submitted in batches of `batch`, from the initiator to the
/// responder (kUni) or both ways at once (kBi). The receiver answers with one closing message when
/// it has everything: the clock stops there, not at local completion. With DataFlow::kPull the
/// initiator fetches (kUni) or both sides do (kBi), and the clock stops when the data is here.
/// Small messages make this the message-rate test.
class Stream final : public Pattern {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream"; }
  [[nodiscard]] bool stampsMessages() const override { return false; }
  [[nodiscard]] bool initiatorReceives(const Block& block) const override;
  [[nodiscard]] bool responderReceives(const Block& block) const override;
  Result<Ticks> initiate(const Stage& stage, const Block& block,
                         std::span<Ticks> samples) const override;
  Status respond(const Stage& stage, const Block& block) const override;
};

}  // namespace gdrbench
