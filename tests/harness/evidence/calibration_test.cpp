// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/calibration.h"

#include <doctest/doctest.h>

namespace gdrbench::evidence {
namespace {

Observation seen(WitnessClass kind, Outcome outcome, Strength strength = Strength::kDecisive) {
  return {.id = "w", .kind = kind, .outcome = outcome, .strength = strength};
}

ControlSeen control(bool staged, WitnessClass kind, Outcome outcome) {
  return {staged ? "known to be staged" : "known to be direct", staged, {seen(kind, outcome)}};
}

Observation with(const Observation& observation, std::vector<ControlSeen> controls) {
  return calibrated(std::span(&observation, 1), controls).front();
}

constexpr WitnessClass kNeedControls[] = {WitnessClass::kBehaviour, WitnessClass::kWork};
constexpr WitnessClass kNeedNone[] = {WitnessClass::kConstruction, WitnessClass::kLibrary,
                                      WitnessClass::kCounter, WitnessClass::kCapability};

}  // namespace

TEST_CASE("behaviour and work count once the other truth was told apart") {
  for (const WitnessClass kind : kNeedControls) {
    CAPTURE(name(kind));
    const Observation direct = seen(kind, Outcome::kDirect);
    const Observation good = with(direct, {control(true, kind, Outcome::kStaged)});
    CHECK(good.outcome == Outcome::kDirect);
    CHECK(good.control == "known to be staged");
    CHECK(with(direct, {control(true, kind, Outcome::kNeutral)}).outcome == Outcome::kDirect);

    const Observation staged = seen(kind, Outcome::kStaged);
    CHECK(with(staged, {control(false, kind, Outcome::kNeutral)}).outcome == Outcome::kStaged);
  }
}

TEST_CASE("without a control that answers, behaviour and work are insensitive") {
  for (const WitnessClass kind : kNeedControls) {
    CAPTURE(name(kind));
    const Observation direct = seen(kind, Outcome::kDirect);
    CHECK(with(direct, {}).outcome == Outcome::kInsensitive);
    CHECK(with(direct, {}).reason.find("no control") != std::string::npos);
    // The wrong truth, another witness, or one that could not be had there.
    CHECK(with(direct, {control(false, kind, Outcome::kDirect)}).outcome == Outcome::kInsensitive);
    CHECK(with(direct, {control(true, kind, Outcome::kUnavailable)}).outcome ==
          Outcome::kInsensitive);
    ControlSeen other = control(true, kind, Outcome::kStaged);
    other.observations[0].id = "another";
    CHECK(with(direct, {other}).outcome == Outcome::kInsensitive);
  }
}

TEST_CASE("a witness that says of a control what it says of everything is dropped, of any class") {
  const std::span<const WitnessClass> all[] = {kNeedControls, kNeedNone};
  for (const auto kinds : all) {
    for (const WitnessClass kind : kinds) {
      CAPTURE(name(kind));
      const Observation direct = seen(kind, Outcome::kDirect);
      const Observation dropped = with(direct, {control(true, kind, Outcome::kDirect)});
      CHECK(dropped.outcome == Outcome::kInsensitive);
      CHECK(dropped.reason.find("known to be staged") != std::string::npos);
      // One such control is enough, whatever the others say.
      CHECK(with(direct,
                 {control(true, kind, Outcome::kStaged), control(true, kind, Outcome::kDirect)})
                .outcome == Outcome::kInsensitive);
    }
  }
}

TEST_CASE("constructions, libraries and counters stand without a control") {
  for (const WitnessClass kind : kNeedNone) {
    CAPTURE(name(kind));
    CHECK(with(seen(kind, Outcome::kDirect), {}).outcome == Outcome::kDirect);
    CHECK(with(seen(kind, Outcome::kStaged), {}).outcome == Outcome::kStaged);
  }
}

TEST_CASE("a counter that did not move counts once a staged control moved it, there and so") {
  Observation still = seen(WitnessClass::kCounter, Outcome::kDirect, Strength::kStrong);
  still.path = PathKind::kSameGpu;
  still.way = Way::kOut;
  still.side = Side::kSource;
  const auto staged = [&](Outcome outcome, Way way = Way::kOut, Side side = Side::kSource) {
    Observation there = still;
    there.outcome = outcome;
    there.path = PathKind::kNone;
    there.way = way;
    there.side = side;
    return ControlSeen{"known to be staged", true, {there}};
  };
  CHECK(with(still, {staged(Outcome::kStaged)}).outcome == Outcome::kDirect);
  CHECK(with(still, {staged(Outcome::kStaged)}).control == "known to be staged");
  CHECK(with(still, {}).outcome == Outcome::kInsensitive);
  for (const Outcome outcome : {Outcome::kDirect, Outcome::kNeutral, Outcome::kUnavailable}) {
    CAPTURE(name(outcome));
    CHECK(with(still, {staged(outcome)}).outcome == Outcome::kInsensitive);
  }
  CHECK(with(still, {staged(Outcome::kStaged, Way::kBack)}).outcome == Outcome::kInsensitive);
  CHECK(with(still, {staged(Outcome::kStaged, Way::kOut, Side::kSink)}).outcome ==
        Outcome::kInsensitive);
  // Dead one way: whatever it says of that way.
  ControlSeen half = staged(Outcome::kStaged);
  half.observations.push_back(staged(Outcome::kDirect, Way::kBack).observations[0]);
  CHECK(with(still, {half}).outcome == Outcome::kInsensitive);
}

TEST_CASE("bytes on a link, and what says nothing, are left as they are") {
  Observation bytes = seen(WitnessClass::kCounter, Outcome::kDirect);
  bytes.bearing = Bearing::kConservation;
  ControlSeen same{"known to be staged", true, {bytes}};
  CHECK(with(bytes, {same}).outcome == Outcome::kDirect);
  for (const Outcome outcome : {Outcome::kNeutral, Outcome::kUnavailable}) {
    CHECK(with(seen(WitnessClass::kBehaviour, outcome), {}).outcome == outcome);
  }
}

}  // namespace gdrbench::evidence
