// SPDX-License-Identifier: Apache-2.0
// What the witnesses share when they say what they saw. Private to harness/witness.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/observation.h"
#include "harness/witness/witness.h"

namespace gdrbench::witness {

/// Payload that went one way, at this side's end of it: what was sent was read from this side's
/// memory (the source), what was received was written to it (the sink).
struct Passage {
  evidence::Way way = evidence::Way::kOut;
  evidence::Side side = evidence::Side::kSource;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool out() const { return way == evidence::Way::kOut; }
};

/// Ways without payload are left out: nothing is to be seen of them.
std::vector<Passage> passages(const Payload& payload);

/// Of both ways and both sides, neutral, without privilege.
evidence::Observation blank(std::string_view id, evidence::WitnessClass kind, const Scene& scene);

/// The same of one way and this side's end.
evidence::Observation of(const Passage& passage, evidence::Observation seen);

evidence::Observation unavailable(evidence::Observation seen, std::string reason);
evidence::Observation neutral(evidence::Observation seen, std::string reason);
evidence::Observation concluded(evidence::Observation seen, evidence::Outcome outcome,
                                evidence::Strength strength);

/// At most kMaxArtefact bytes of it, and a mark where it was cut.
std::string artefact(std::string_view text);

}  // namespace gdrbench::witness
