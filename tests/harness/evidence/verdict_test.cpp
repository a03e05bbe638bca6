// SPDX-License-Identifier: Apache-2.0
// Every branch of the rule.
#include "harness/evidence/verdict.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "harness/evidence/calibration.h"

namespace gdrbench::evidence {
namespace {

/// Two GPUs, 1 MiB both ways, every byte verified.
Subject twoGpus() {
  return {.claimed = "direct",
          .initiatorOnGpu = true,
          .responderOnGpu = true,
          .bytes = 1 << 20,
          .verified = true};
}

Observation path(Outcome outcome, Strength strength = Strength::kDecisive,
                 PathKind kind = PathKind::kNone) {
  return {.id = "a.path",
          .outcome = outcome,
          .strength = strength,
          .path = kind,
          .observed = "seen so"};
}

Observation conserved(Outcome outcome) {
  return {.id = "a.link",
          .kind = WitnessClass::kCounter,
          .bearing = Bearing::kConservation,
          .outcome = outcome,
          .strength = Strength::kStrong,
          .observed = "counted so"};
}

Observation on(Observation seen, Way way, Side side) {
  seen.way = way;
  seen.side = side;
  return seen;
}

Verdict judged(const Subject& subject, std::vector<Observation> observations) {
  return judge(subject, observations);
}

bool says(const Verdict& verdict, std::string_view part) {
  return std::any_of(
      verdict.reasons.begin(), verdict.reasons.end(),
      [&](const std::string& reason) { return reason.find(part) != std::string::npos; });
}

constexpr Outcome kAll[] = {Outcome::kDirect, Outcome::kStaged, Outcome::kNeutral,
                            Outcome::kUnavailable, Outcome::kInsensitive};

}  // namespace

TEST_CASE("host memory on both sides: not applicable, whatever was seen") {
  Subject subject = twoGpus();
  subject.initiatorOnGpu = subject.responderOnGpu = false;
  const Verdict verdict = judged(subject, {path(Outcome::kDirect), conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kNotApplicable);
  CHECK(verdict.text() == "n/a");
  CHECK(verdict.units.empty());
  CHECK(says(verdict, "no payload"));
}

TEST_CASE("nothing observed is unproved: a claim is no evidence") {
  const Verdict verdict = judged(twoGpus(), {});
  CHECK(verdict.value == Value::kUnproved);
  CHECK(verdict.units.size() == 4);
  CHECK(says(verdict, "no witness decides"));
}

TEST_CASE("decisive and all preconditions: direct, with its kind") {
  const Verdict verdict =
      judged(twoGpus(), {path(Outcome::kDirect, Strength::kDecisive, PathKind::kNvlink),
                         conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kDirect);
  CHECK(verdict.path == PathKind::kNvlink);
  CHECK(verdict.text() == "direct (nvlink)");
  CHECK(says(verdict, "a.path: seen so"));
  CHECK(says(verdict, "a.link: counted so"));
}

TEST_CASE("the kind comes from a strong witness where the decisive one cannot tell it") {
  const Verdict verdict =
      judged(twoGpus(), {path(Outcome::kDirect), conserved(Outcome::kDirect),
                         path(Outcome::kDirect, Strength::kStrong, PathKind::kNvlink)});
  CHECK(verdict.text() == "direct (nvlink)");
}

TEST_CASE("direct needs each precondition") {
  const std::vector<Observation> enough = {path(Outcome::kDirect), conserved(Outcome::kDirect)};
  REQUIRE(judged(twoGpus(), enough).value == Value::kDirect);

  Subject unverified = twoGpus();
  unverified.verified = false;
  unverified.verification = "verify: off";
  CHECK(judged(unverified, enough).value == Value::kUnproved);
  CHECK(says(judged(unverified, enough), "verify: off"));

  for (const Outcome outcome : kAll) {
    CAPTURE(name(outcome));
    const Verdict verdict = judged(twoGpus(), {path(Outcome::kDirect), conserved(outcome)});
    CHECK(verdict.value == (outcome == Outcome::kDirect ? Value::kDirect : Value::kUnproved));
  }
  CHECK(judged(twoGpus(), {path(Outcome::kDirect)}).value == Value::kUnproved);
  // Seen on one link and missing on another: somebody is wrong.
  CHECK(judged(twoGpus(),
               {path(Outcome::kDirect), conserved(Outcome::kDirect), conserved(Outcome::kStaged)})
            .value == Value::kUnproved);

  Observation fuse = path(Outcome::kStaged, Strength::kWeak);
  fuse.bearing = Bearing::kFuse;
  const Verdict without = judged(twoGpus(), {enough[0], enough[1], fuse});
  CHECK(without.value == Value::kUnproved);
  CHECK(says(without, "taken out"));

  const Verdict against =
      judged(twoGpus(), {enough[0], enough[1], path(Outcome::kStaged, Strength::kStrong)});
  CHECK(against.value == Value::kUnproved);
  CHECK(says(against, "contradicted"));
}

TEST_CASE("only what is decisive decides") {
  for (const Strength strength : {Strength::kStrong, Strength::kWeak}) {
    for (const Outcome outcome : {Outcome::kDirect, Outcome::kStaged}) {
      CAPTURE(name(strength));
      CAPTURE(name(outcome));
      const Verdict verdict =
          judged(twoGpus(), {path(outcome, strength), conserved(Outcome::kDirect)});
      CHECK(verdict.value == Value::kUnproved);
      CHECK(says(verdict, "leans to"));
    }
  }
}

TEST_CASE("bytes on the link and recorded copies decide together, and neither alone") {
  Observation counted = path(Outcome::kDirect, Strength::kStrong, PathKind::kNvlink);
  counted.kind = WitnessClass::kCounter;
  Observation copied = path(Outcome::kDirect, Strength::kStrong);
  copied.kind = WitnessClass::kWork;
  CHECK(judged(twoGpus(), {counted, copied, conserved(Outcome::kDirect)}).text() ==
        "direct (nvlink)");
  CHECK(judged(twoGpus(), {counted, conserved(Outcome::kDirect)}).value == Value::kUnproved);
  CHECK(judged(twoGpus(), {copied, conserved(Outcome::kDirect)}).value == Value::kUnproved);
  CHECK(judged(twoGpus(), {counted, copied}).value == Value::kUnproved);  // not conserved
  Observation anyCounter = counted;
  anyCounter.path = PathKind::kNone;  // it counted something, and not on a link between the two
  CHECK(judged(twoGpus(), {anyCounter, copied, conserved(Outcome::kDirect)}).value ==
        Value::kUnproved);
  CHECK(
      judged(twoGpus(), {counted, on(copied, Way::kOut, Side::kBoth), conserved(Outcome::kDirect)})
          .value == Value::kUnproved);  // the way back was not recorded
  CHECK(judged(twoGpus(), {counted, copied, path(Outcome::kStaged), conserved(Outcome::kDirect)})
            .value == Value::kConflict);
}

TEST_CASE("staged needs no precondition") {
  Subject unverified = twoGpus();
  unverified.verified = false;
  CHECK(judged(unverified, {path(Outcome::kStaged)}).value == Value::kStaged);
  CHECK(judged(twoGpus(), {path(Outcome::kStaged), conserved(Outcome::kDirect)}).value ==
        Value::kStaged);
}

TEST_CASE("decisive for both: conflict, and both are named") {
  Observation staged = path(Outcome::kStaged);
  staged.id = "b.copies";
  const Verdict verdict =
      judged(twoGpus(), {path(Outcome::kDirect), staged, conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kConflict);
  CHECK(says(verdict, "a.path"));
  CHECK(says(verdict, "b.copies"));
}

TEST_CASE("unavailable is not zero and insensitive is dropped") {
  for (const Outcome outcome : {Outcome::kUnavailable, Outcome::kInsensitive, Outcome::kNeutral}) {
    CAPTURE(name(outcome));
    Observation nothing = path(outcome);
    nothing.reason = "needs root";
    const Verdict verdict = judged(twoGpus(), {nothing, conserved(Outcome::kDirect)});
    CHECK(verdict.value == Value::kUnproved);
    CHECK(says(verdict, "needs root") == (outcome != Outcome::kNeutral));
    // Nor does it stand against what others saw.
    CHECK(judged(twoGpus(), {nothing, path(Outcome::kDirect), conserved(Outcome::kDirect)}).value ==
          Value::kDirect);
  }
}

TEST_CASE("half direct: as good as the weakest side, and it says which") {
  const Observation source = on(path(Outcome::kDirect), Way::kBoth, Side::kSource);
  const Observation sink = on(path(Outcome::kStaged), Way::kBoth, Side::kSink);
  const Verdict verdict = judged(twoGpus(), {source, sink, conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kStaged);
  CHECK(says(verdict, "out, source of the initiator: direct"));
  CHECK(says(verdict, "out, sink of the responder: staged"));

  const Verdict unknownSink = judged(twoGpus(), {source, conserved(Outcome::kDirect)});
  CHECK(unknownSink.value == Value::kUnproved);
  CHECK(says(unknownSink, "out, sink of the responder: unproved"));
}

TEST_CASE("one way direct and one way staged") {
  const Verdict verdict = judged(twoGpus(), {on(path(Outcome::kDirect), Way::kOut, Side::kBoth),
                                             on(path(Outcome::kStaged), Way::kBack, Side::kBoth),
                                             conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kStaged);
  Subject oneWay = twoGpus();
  oneWay.back = false;
  CHECK(judged(oneWay,
               {on(path(Outcome::kDirect), Way::kOut, Side::kBoth),
                on(path(Outcome::kStaged), Way::kBack, Side::kBoth), conserved(Outcome::kDirect)})
            .value == Value::kDirect);
}

TEST_CASE("a side in host memory is not asked for") {
  Subject subject = twoGpus();
  subject.responderOnGpu = false;
  const Verdict verdict = judged(
      subject, {on(path(Outcome::kDirect), Way::kOut, Side::kSource),
                on(path(Outcome::kDirect), Way::kBack, Side::kSink), conserved(Outcome::kDirect)});
  CHECK(verdict.value == Value::kDirect);
  REQUIRE(verdict.units.size() == 2);
  CHECK(verdict.units[0].side == Side::kSource);
  CHECK(verdict.units[1].way == Way::kBack);
}

TEST_CASE("a verdict does not cross message sizes") {
  Observation other = path(Outcome::kDirect);
  other.bytes = 8;
  CHECK(judged(twoGpus(), {other, conserved(Outcome::kDirect)}).value == Value::kUnproved);
  other.bytes = 1 << 20;
  CHECK(judged(twoGpus(), {other, conserved(Outcome::kDirect)}).value == Value::kDirect);
  Observation staged = path(Outcome::kStaged);
  staged.bytes = 8;
  CHECK(judged(twoGpus(), {other, staged, conserved(Outcome::kDirect)}).value == Value::kDirect);
}

TEST_CASE("both ends on one GPU: its own kind, no link to count on") {
  Subject subject = twoGpus();
  subject.sameGpu = true;
  const Verdict verdict =
      judged(subject, {path(Outcome::kDirect, Strength::kDecisive, PathKind::kSameGpu)});
  CHECK(verdict.text() == "direct (same-gpu)");
}

TEST_CASE("within one GPU: recorded copies and a PCIe port that nothing crossed, calibrated") {
  Observation copied = path(Outcome::kDirect, Strength::kStrong, PathKind::kSameGpu);
  copied.id = "copies";
  copied.kind = WitnessClass::kWork;
  Observation still = path(Outcome::kDirect, Strength::kStrong, PathKind::kSameGpu);
  still.id = "pcie";
  still.kind = WitnessClass::kCounter;
  const auto as = [](Observation seen, Outcome outcome, Strength strength) {
    seen.outcome = outcome;
    seen.strength = strength;
    if (outcome != Outcome::kDirect) seen.path = PathKind::kNone;
    return seen;
  };
  const Observation stagedCopies = as(copied, Outcome::kStaged, Strength::kDecisive);
  const Observation crossed = as(still, Outcome::kStaged, Strength::kWeak);
  const Observation noCounter = as(still, Outcome::kUnavailable, Strength::kStrong);
  const Observation unsure = as(still, Outcome::kNeutral, Strength::kWeak);
  const std::vector<Observation> both = {copied, still}, shown = {stagedCopies, crossed};
  struct Row {
    const char* name;
    std::vector<Observation> seen, staged;  ///< of the row, and of its staged control
    const char* verdict;
  };
  const Row rows[] = {
      {"both", both, shown, "direct (same-gpu)"},
      {"copies alone", {copied}, shown, "unproved"},
      {"PCIe alone", {still}, shown, "unproved"},
      {"PCIe unavailable", {copied, noCounter}, {stagedCopies, noCounter}, "unproved"},
      {"PCIe undecided", {copied, unsure}, shown, "unproved"},
      {"PCIe crossed", {copied, crossed}, shown, "unproved"},
      {"no control", both, {}, "unproved"},
      {"PCIe stands still there as well", both, {stagedCopies, still}, "unproved"},
      {"PCIe undecided there", both, {stagedCopies, unsure}, "unproved"},
      {"PCIe unavailable there", both, {stagedCopies, noCounter}, "unproved"},
      {"copies say the same there", both, {copied, crossed}, "unproved"},
      {"staged by construction", {copied, still, path(Outcome::kStaged)}, shown, "conflict"},
      {"contradicted",
       {copied, still, path(Outcome::kStaged, Strength::kStrong)},
       shown,
       "unproved"},
  };
  Subject subject = twoGpus();
  subject.sameGpu = true;
  for (const Row& row : rows) {
    INFO(row.name);
    std::vector<ControlSeen> controls;
    if (!row.staged.empty()) controls.push_back({"staged", true, row.staged});
    CHECK(judged(subject, calibrated(row.seen, controls)).text() == row.verdict);
  }
  Observation missing = noCounter;
  missing.reason = "not supported";
  CHECK(says(judged(subject, {copied, missing}), "pcie unavailable: not supported"));
  const ControlSeen control{"staged", true, shown};
  Subject unverified = subject;
  unverified.verified = false;
  CHECK(judged(unverified, calibrated(both, {&control, 1})).value == Value::kUnproved);
  // A counter of one way says nothing of the other.
  const std::vector<Observation> out = {copied, on(still, Way::kOut, Side::kBoth)};
  ControlSeen outShown{"staged", true, {stagedCopies, on(crossed, Way::kOut, Side::kBoth)}};
  CHECK(judged(subject, calibrated(out, {&outShown, 1})).value == Value::kUnproved);
}

TEST_CASE("between a GPU and its own host, a construction needs no counter") {
  Subject subject = twoGpus();
  subject.responderOnGpu = false;
  Observation made = path(Outcome::kDirect);
  made.kind = WitnessClass::kConstruction;
  CHECK(judged(subject, {made}).value == Value::kDirect);
  // A library that says so does: it may go by another way than the one that it names.
  Observation told = path(Outcome::kDirect);
  told.kind = WitnessClass::kLibrary;
  CHECK(judged(subject, {told}).value == Value::kUnproved);
  CHECK(judged(subject, {made, told}).value == Value::kUnproved);
  Subject apart = subject;
  apart.oneHost = false;
  CHECK(judged(apart, {made}).value == Value::kUnproved);
  CHECK(judged(twoGpus(), {made}).value == Value::kUnproved);
  // What a counter missed still counts.
  CHECK(judged(subject, {made, conserved(Outcome::kStaged)}).value == Value::kUnproved);
}

TEST_CASE("ways of different kinds: direct, and no kind for the whole") {
  const Verdict verdict =
      judged(twoGpus(), {on(path(Outcome::kDirect, Strength::kDecisive, PathKind::kPcieSwitch),
                            Way::kOut, Side::kBoth),
                         on(path(Outcome::kDirect, Strength::kDecisive, PathKind::kPcieRoot),
                            Way::kBack, Side::kBoth),
                         conserved(Outcome::kDirect)});
  CHECK(verdict.text() == "direct");
}

TEST_CASE("rounds together") {
  const auto of = [](Value value) {
    Verdict verdict;
    verdict.value = value;
    verdict.path = value == Value::kDirect ? PathKind::kNvlink : PathKind::kNone;
    return verdict;
  };
  const auto all = [&](std::vector<Value> values) {
    std::vector<Verdict> verdicts;
    for (const Value value : values) verdicts.push_back(of(value));
    return together(verdicts);
  };
  CHECK(all({Value::kDirect, Value::kDirect}).text() == "direct (nvlink)");
  CHECK(all({Value::kDirect, Value::kUnproved}).text() == "unproved");
  CHECK(all({Value::kDirect, Value::kStaged}).text() == "conflict");
  CHECK(all({Value::kStaged, Value::kUnproved}).text() == "staged");
  CHECK(all({Value::kNotApplicable}).text() == "n/a");
  CHECK(all({}).value == Value::kUnproved);
}

TEST_CASE("what the responder saw, in the initiator's terms") {
  CHECK(mirrored(on(path(Outcome::kDirect), Way::kOut, Side::kSource)).way == Way::kBack);
  CHECK(mirrored(on(path(Outcome::kDirect), Way::kBack, Side::kSink)).way == Way::kOut);
  CHECK(mirrored(on(path(Outcome::kDirect), Way::kBoth, Side::kSink)).way == Way::kBoth);
}

TEST_CASE("explained: what was seen, what it would have shown otherwise, what is missing") {
  Observation seen = path(Outcome::kDirect, Strength::kDecisive, PathKind::kNvlink);
  seen.ifDirect = "P2P on every channel";
  seen.ifStaged = "SHM or NET";
  seen.control = "the same with peer access off: SHM";
  Observation missing = path(Outcome::kUnavailable, Strength::kStrong);
  missing.id = "c.records";
  missing.observed = "";
  missing.reason = "not installed";
  const std::vector<Observation> observations = {seen, conserved(Outcome::kDirect), missing};
  CHECK(explain(twoGpus(), observations) ==
        "verdict: direct (nvlink)\n"
        "the row is called: direct\n"
        "  because a.path: seen so\n"
        "  because a.link: counted so\n"
        "out, source of the initiator: direct (nvlink)\n"
        "out, sink of the responder: direct (nvlink)\n"
        "back, source of the responder: direct (nvlink)\n"
        "back, sink of the initiator: direct (nvlink)\n"
        "seen:\n"
        "  a.path [direct, decisive]: seen so\n"
        "      if direct: P2P on every channel\n"
        "      if staged: SHM or NET\n"
        "      shown to react by: the same with peer access off: SHM\n"
        "  a.link [direct, strong, conservation]: counted so\n"
        "not to be had here, or dropped:\n"
        "  c.records [unavailable, strong]\n"
        "      why: not installed\n");
}

}  // namespace gdrbench::evidence
