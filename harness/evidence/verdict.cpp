// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace gdrbench::evidence {
namespace {

using Observations = std::span<const Observation>;
using Picked = std::vector<const Observation*>;

/// Of this way, this side and this size of message.
bool concerns(const Observation& seen, const UnitVerdict& unit, std::uint64_t bytes) {
  return (seen.way == Way::kBoth || seen.way == unit.way) &&
         (seen.side == Side::kBoth || seen.side == unit.side) &&
         (seen.bytes == 0 || seen.bytes == bytes);
}

Picked pick(const Picked& from, Bearing bearing, Outcome outcome,
            std::optional<Strength> strength = std::nullopt) {
  Picked picked;
  for (const Observation* seen : from) {
    if (seen->bearing != bearing || seen->outcome != outcome) continue;
    if (!strength || seen->strength == *strength) picked.push_back(seen);
  }
  return picked;
}

std::string sentence(const Observation& seen) {
  return seen.observed.empty() ? seen.id : fmt::format("{}: {}", seen.id, seen.observed);
}

void because(UnitVerdict& unit, const Picked& observations) {
  for (const Observation* seen : observations) unit.reasons.push_back(sentence(*seen));
}

/// By what it led: the decisive observations are asked first, then the others of a direct path,
/// then the links on which the payload was counted.
PathKind kindOf(const Picked& seen, const Picked& decisive) {
  const Picked strong = pick(seen, Bearing::kPath, Outcome::kDirect, Strength::kStrong);
  const Picked counted = pick(seen, Bearing::kConservation, Outcome::kDirect);
  for (const Picked* group : {&decisive, &strong, &counted}) {
    for (const Observation* each : *group) {
      if (each->path != PathKind::kNone) return each->path;
    }
  }
  return PathKind::kNone;
}

/// The units of payload whose memory lies in a GPU.
std::vector<UnitVerdict> unitsOf(const Subject& subject) {
  std::vector<UnitVerdict> units;
  const auto add = [&](bool went, Way way, bool sourceOnGpu, bool sinkOnGpu) {
    if (went && sourceOnGpu) units.push_back({.way = way, .side = Side::kSource});
    if (went && sinkOnGpu) units.push_back({.way = way, .side = Side::kSink});
  };
  add(subject.out, Way::kOut, subject.initiatorOnGpu, subject.responderOnGpu);
  add(subject.back, Way::kBack, subject.responderOnGpu, subject.initiatorOnGpu);
  return units;
}

/// There is no second way that a counter could tell apart: within one GPU; or between a GPU and the
/// memory of its own host, where who moves the bytes is known by construction.
bool onlyWay(const Subject& subject, const Picked& direct) {
  if (subject.sameGpu) return true;
  return subject.oneHost && subject.initiatorOnGpu != subject.responderOnGpu &&
         std::all_of(direct.begin(), direct.end(), [](const Observation* seen) {
           return seen->kind == WitnessClass::kConstruction;
         });
}

/// What keeps a decisive observation of a direct path from being a verdict; empty: nothing.
std::vector<std::string> unmetPreconditions(const Subject& subject, const Picked& seen,
                                            const Picked& direct) {
  std::vector<std::string> unmet;
  if (!subject.verified) {
    unmet.push_back("the data was not verified: " + subject.verification);
  }
  const Picked passedElsewhere = pick(seen, Bearing::kConservation, Outcome::kStaged);
  for (const Observation* other : passedElsewhere) {
    unmet.push_back("the payload did not pass the link that it was meant to pass: " +
                    sentence(*other));
  }
  if (!onlyWay(subject, direct) && passedElsewhere.empty() &&
      pick(seen, Bearing::kConservation, Outcome::kDirect).empty()) {
    unmet.emplace_back("no counter saw the payload pass the link that it was meant to pass");
  }
  for (const Observation* fuse : pick(seen, Bearing::kFuse, Outcome::kStaged)) {
    unmet.push_back("a check of the library was taken out: " + sentence(*fuse));
  }
  for (const Observation* against :
       pick(seen, Bearing::kPath, Outcome::kStaged, Strength::kStrong)) {
    unmet.push_back("it is contradicted: " + sentence(*against));
  }
  return unmet;
}

/// What would have settled it, and which way the rest points. A lean is never a verdict.
void sayWhatIsMissing(UnitVerdict& unit, const Picked& seen) {
  for (const Outcome outcome : {Outcome::kUnavailable, Outcome::kInsensitive}) {
    for (const Observation* missing : pick(seen, Bearing::kPath, outcome)) {
      if (missing->strength == Strength::kWeak) continue;
      unit.reasons.push_back(fmt::format("{} {}: {}", missing->id, name(outcome), missing->reason));
    }
  }
  for (const Outcome outcome : {Outcome::kDirect, Outcome::kStaged}) {
    for (const Observation* lean : pick(seen, Bearing::kPath, outcome)) {
      if (lean->strength == Strength::kDecisive) continue;
      unit.reasons.push_back(
          fmt::format("it leans to {}, which proves nothing: {}", name(outcome), sentence(*lean)));
    }
  }
}

bool anyOfClass(const Picked& observations, WitnessClass kind) {
  return std::any_of(observations.begin(), observations.end(),
                     [&](const Observation* seen) { return seen->kind == kind; });
}

/// What decides for a direct path: a decisive observation; or two strong ones that see it from both
/// ends of the matter, what a counter says and copies that were recorded. Either alone leaves a way
/// out.
///
/// Between two GPUs: bytes counted on their link, and copies from one to the other. A driver may
/// take a copy between devices through the host, and a kernel may have moved what a counter saw
/// from a buffer that was staged before.
///
/// Within one GPU: copies within it, and next to no bytes on its PCIe port. The copies may be to or
/// from a buffer that kernels fill from the host, unrecorded; and that nothing crossed says who did
/// not move the payload, not who did.
Picked decidingForDirect(const Picked& seen) {
  Picked decisive = pick(seen, Bearing::kPath, Outcome::kDirect, Strength::kDecisive);
  if (!decisive.empty()) return decisive;
  Picked strong = pick(seen, Bearing::kPath, Outcome::kDirect, Strength::kStrong);
  std::erase_if(strong, [](const Observation* each) {
    return each->kind != WitnessClass::kWork &&
           !(each->kind == WitnessClass::kCounter && each->path != PathKind::kNone);
  });
  const bool both =
      anyOfClass(strong, WitnessClass::kCounter) && anyOfClass(strong, WitnessClass::kWork);
  return both ? strong : Picked{};
}

void decide(UnitVerdict& unit, const Subject& subject, const Picked& seen) {
  const Picked staged = pick(seen, Bearing::kPath, Outcome::kStaged, Strength::kDecisive);
  const Picked direct = decidingForDirect(seen);
  if (!staged.empty()) {
    unit.value = direct.empty() ? Value::kStaged : Value::kConflict;
    because(unit, staged);
    because(unit, direct);
    return;
  }
  if (direct.empty()) {
    unit.value = Value::kUnproved;
    unit.reasons.emplace_back("no witness decides");
    sayWhatIsMissing(unit, seen);
    return;
  }
  std::vector<std::string> unmet = unmetPreconditions(subject, seen, direct);
  if (unmet.empty()) {
    unit.value = Value::kDirect;
    unit.path = kindOf(seen, direct);
    because(unit, direct);
    because(unit, pick(seen, Bearing::kConservation, Outcome::kDirect));
    return;
  }
  unit.value = Value::kUnproved;
  because(unit, direct);
  unit.reasons.insert(unit.reasons.end(), unmet.begin(), unmet.end());
  for (const Observation* missing : pick(seen, Bearing::kConservation, Outcome::kUnavailable)) {
    unit.reasons.push_back(fmt::format("{} unavailable: {}", missing->id, missing->reason));
  }
}

/// The weaker of two, from the strongest doubt down.
int rank(Value value) {
  switch (value) {
    case Value::kConflict:
      return 4;
    case Value::kStaged:
      return 3;
    case Value::kUnproved:
      return 2;
    case Value::kDirect:
      return 1;
    case Value::kNotApplicable:
      return 0;
  }
  return 0;
}

std::string nameOf(const UnitVerdict& unit) {
  const bool out = unit.way == Way::kOut;
  const bool source = unit.side == Side::kSource;
  return fmt::format("{}, {} of the {}", out ? "out" : "back", source ? "source" : "sink",
                     out == source ? "initiator" : "responder");
}

void addOnce(std::vector<std::string>& all, const std::string& text) {
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

/// The whole from its parts: as good as the weakest, with the reasons of those that decide.
void conclude(Verdict& verdict) {
  for (const UnitVerdict& unit : verdict.units) {
    if (rank(unit.value) > rank(verdict.value)) verdict.value = unit.value;
  }
  bool first = true, half = false;
  for (const UnitVerdict& unit : verdict.units) {
    if (unit.value != verdict.value) {
      half = true;
      continue;
    }
    verdict.path = first || verdict.path == unit.path ? unit.path : PathKind::kNone;
    first = false;
    for (const std::string& reason : unit.reasons) addOnce(verdict.reasons, reason);
  }
  if (!half) return;
  for (const UnitVerdict& unit : verdict.units) {
    verdict.reasons.push_back(fmt::format("{}: {}", nameOf(unit), name(unit.value)));
  }
}

std::string withPath(Value value, PathKind path) {
  std::string text(name(value));
  if (path != PathKind::kNone) text += fmt::format(" ({})", name(path));
  return text;
}

void appendObservation(std::string& text, const Observation& seen) {
  text += fmt::format("  {} [{}, {}", seen.id, name(seen.outcome), name(seen.strength));
  if (seen.bearing != Bearing::kPath) text += fmt::format(", {}", name(seen.bearing));
  if (seen.way != Way::kBoth) text += fmt::format(", {}", name(seen.way));
  if (seen.side != Side::kBoth) text += fmt::format(", {}", name(seen.side));
  text += "]";
  if (!seen.observed.empty()) text += ": " + seen.observed;
  text += '\n';
  const auto line = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {}: {}\n", what, value);
  };
  line("if direct", seen.ifDirect);
  line("if staged", seen.ifStaged);
  line("why", seen.reason);
  line("shown to react by", seen.control);
  if (seen.privilege != "none") line("needs", seen.privilege);
}

}  // namespace

std::string_view name(Value value) {
  switch (value) {
    case Value::kDirect:
      return "direct";
    case Value::kStaged:
      return "staged";
    case Value::kUnproved:
      return "unproved";
    case Value::kConflict:
      return "conflict";
    case Value::kNotApplicable:
      return "n/a";
  }
  return "";
}

std::string Verdict::text() const {
  return withPath(value, path);
}

Verdict judge(const Subject& subject, Observations observations) {
  Verdict verdict;
  verdict.value = Value::kNotApplicable;
  verdict.units = unitsOf(subject);
  if (verdict.units.empty()) {
    verdict.reasons.emplace_back("no payload was read from or written to a GPU");
    return verdict;
  }
  for (UnitVerdict& unit : verdict.units) {
    Picked seen;
    for (const Observation& observation : observations) {
      if (concerns(observation, unit, subject.bytes)) seen.push_back(&observation);
    }
    decide(unit, subject, seen);
  }
  conclude(verdict);
  return verdict;
}

Verdict together(std::span<const Verdict> verdicts) {
  if (verdicts.empty()) {
    Verdict none;
    none.reasons.emplace_back("nothing was observed");
    return none;
  }
  const auto weaker = [](const Verdict& a, const Verdict& b) {
    return rank(a.value) < rank(b.value);
  };
  Verdict all = *std::max_element(verdicts.begin(), verdicts.end(), weaker);
  const auto has = [&](Value value) {
    return std::any_of(verdicts.begin(), verdicts.end(),
                       [&](const Verdict& one) { return one.value == value; });
  };
  if (has(Value::kDirect) && has(Value::kStaged)) {
    all.value = Value::kConflict;
    all.reasons.insert(all.reasons.begin(), "some rounds were direct and some staged");
  }
  for (const Verdict& one : verdicts) {
    if (one.path != all.path) all.path = PathKind::kNone;
  }
  return all;
}

std::string explain(const Subject& subject, Observations observations) {
  const Verdict verdict = judge(subject, observations);
  std::string text = fmt::format("verdict: {}\n", verdict.text());
  if (!subject.claimed.empty()) text += fmt::format("the row is called: {}\n", subject.claimed);
  for (const std::string& reason : verdict.reasons) text += fmt::format("  because {}\n", reason);
  for (const UnitVerdict& unit : verdict.units) {
    text += fmt::format("{}: {}\n", nameOf(unit), withPath(unit.value, unit.path));
  }
  const auto silent = [](const Observation& seen) {
    return seen.outcome == Outcome::kUnavailable || seen.outcome == Outcome::kInsensitive;
  };
  const auto list = [&](std::string_view title, bool wanted) {
    bool titled = false;
    for (const Observation& seen : observations) {
      if (silent(seen) != wanted) continue;
      if (!titled) text += fmt::format("{}\n", title);
      titled = true;
      appendObservation(text, seen);
    }
  };
  list("seen:", false);
  list("not to be had here, or dropped:", true);
  return text;
}

}  // namespace gdrbench::evidence
