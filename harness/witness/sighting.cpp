// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/sighting.h"

#include <utility>

#include "harness/core/text.h"

namespace gdrbench::witness {

using evidence::Observation;
using evidence::Outcome;
using evidence::Side;
using evidence::Strength;
using evidence::Way;

std::vector<Passage> passages(const Payload& payload) {
  std::vector<Passage> all;
  if (payload.sentBytes > 0) all.push_back({Way::kOut, Side::kSource, payload.sentBytes});
  if (payload.receivedBytes > 0) all.push_back({Way::kBack, Side::kSink, payload.receivedBytes});
  return all;
}

Observation blank(std::string_view id, evidence::WitnessClass kind, const Scene& scene) {
  Observation seen;
  seen.id = id;
  seen.kind = kind;
  seen.bytes = scene.messageBytes;
  seen.privilege = "none";
  return seen;
}

Observation of(const Passage& passage, Observation seen) {
  seen.way = passage.way;
  seen.side = passage.side;
  return seen;
}

Observation unavailable(Observation seen, std::string reason) {
  seen.outcome = Outcome::kUnavailable;
  seen.reason = std::move(reason);
  return seen;
}

Observation neutral(Observation seen, std::string reason) {
  seen.outcome = Outcome::kNeutral;
  seen.reason = std::move(reason);
  return seen;
}

Observation concluded(Observation seen, Outcome outcome, Strength strength) {
  seen.outcome = outcome;
  seen.strength = strength;
  return seen;
}

std::string artefact(std::string_view text) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= evidence::kMaxArtefact) return asUtf8(text);
  // asUtf8 may make three bytes of one where the cut goes through a character.
  return asUtf8(text.substr(0, evidence::kMaxArtefact - kCut.size() - 9)).append(kCut);
}

}  // namespace gdrbench::witness
