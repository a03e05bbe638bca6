// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/calibration.h"

#include <fmt/format.h>

namespace gdrbench::evidence {
namespace {

bool decides(Outcome outcome) {
  return outcome == Outcome::kDirect || outcome == Outcome::kStaged;
}

/// Within one GPU no counter sees a direct payload pass: one that speaks for it counted next to
/// nothing, as a counter that is dead would.
bool byAbsence(const Observation& seen) {
  return seen.kind == WitnessClass::kCounter && seen.outcome == Outcome::kDirect &&
         seen.path == PathKind::kSameGpu;
}

bool needsControl(const Observation& seen) {
  if (byAbsence(seen)) return true;
  return seen.bearing == Bearing::kPath && seen.strength == Strength::kDecisive &&
         (seen.kind == WitnessClass::kBehaviour || seen.kind == WitnessClass::kWork);
}

/// It can be had there, and does not stay silent where silence is what it concluded from.
bool answers(const Observation& there, const Observation& seen) {
  if (!byAbsence(seen)) return there.outcome != Outcome::kUnavailable;
  return there.outcome == Outcome::kStaged && there.way == seen.way && there.side == seen.side;
}

/// What the controls of the other truth say about one witness.
struct Answer {
  const ControlSeen* reacted = nullptr;   ///< it did not say there what it says here
  const ControlSeen* repeated = nullptr;  ///< it did: it cannot tell the two apart
};

Answer ask(const Observation& seen, std::span<const ControlSeen> controls) {
  Answer answer;
  for (const ControlSeen& control : controls) {
    if (control.staged != (seen.outcome == Outcome::kDirect)) continue;
    bool answered = false, repeated = false;
    for (const Observation& there : control.observations) {
      if (there.id != seen.id || there.bearing != seen.bearing) continue;
      answered = answered || answers(there, seen);
      repeated = repeated || there.outcome == seen.outcome;
    }
    if (repeated) answer.repeated = &control;
    if (answered && !repeated) answer.reacted = &control;
  }
  return answer;
}

void drop(Observation& seen, std::string why) {
  seen.reason = std::move(why);
  seen.outcome = Outcome::kInsensitive;
}

}  // namespace

std::vector<Observation> calibrated(std::span<const Observation> observations,
                                    std::span<const ControlSeen> controls) {
  std::vector<Observation> all(observations.begin(), observations.end());
  for (Observation& seen : all) {
    // Whether bytes passed a link is no question of direct or staged: a control of the other truth
    // may well pass it too.
    if (!decides(seen.outcome) || seen.bearing != Bearing::kPath) continue;
    const Answer answer = ask(seen, controls);
    if (answer.repeated != nullptr) {
      drop(seen,
           fmt::format("it says {} of this control as well, which is {}: {}", name(seen.outcome),
                       answer.repeated->staged ? "staged" : "direct", answer.repeated->name));
    } else if (answer.reacted != nullptr) {
      seen.control = answer.reacted->name;
    } else if (needsControl(seen)) {
      drop(seen, fmt::format("no control showed that it would not say {} of anything",
                             name(seen.outcome)));
    }
  }
  return all;
}

}  // namespace gdrbench::evidence
