// SPDX-License-Identifier: Apache-2.0
// What the tests of witnesses share: a clock that tests move, and how to look at what was seen.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/witness/sources.h"

namespace gdrbench::test {

using evidence::Bearing;
using evidence::Observation;
using evidence::Outcome;
using evidence::PathKind;
using evidence::Side;
using evidence::Strength;
using evidence::Way;
using evidence::WitnessClass;
using witness::Payload;
using witness::Scene;

struct FakeTime {
  std::chrono::nanoseconds now{1};
  std::vector<long> slept;              ///< milliseconds
  std::function<void(std::size_t)> at;  ///< told the number of the sleep, from 1 on

  witness::Time time() {
    return {.now = [this] { return now; },
            .sleep =
                [this](std::chrono::milliseconds one) {
                  now += one;
                  slept.push_back(static_cast<long>(one.count()));
                  if (at) at(slept.size());
                }};
  }
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The one of that witness and way, and bearing; fails where there is none or more.
inline Observation only(const std::vector<Observation>& all, const std::string& id,
                        Way way = Way::kBoth, Bearing bearing = Bearing::kPath) {
  std::vector<Observation> found;
  for (const Observation& each : all) {
    if (each.id == id && each.way == way && each.bearing == bearing) found.push_back(each);
  }
  if (found.size() != 1) {
    for (const Observation& each : all) {
      MESSAGE(each.id << " " << name(each.way) << " " << name(each.bearing) << ": " << each.observed
                      << each.reason);
    }
  }
  REQUIRE(found.size() == 1);
  return found.front();
}

inline void checkSeen(const Observation& seen, Outcome outcome, Strength strength, Side side,
                      const std::string& reason = "") {
  INFO(seen.id << ": " << seen.observed << "; " << seen.reason);
  CHECK(name(seen.outcome) == name(outcome));
  if (outcome == Outcome::kDirect || outcome == Outcome::kStaged) {
    CHECK(name(seen.strength) == name(strength));
    CHECK(!seen.observed.empty());
  } else {
    CHECK(!seen.reason.empty());
  }
  CHECK(name(seen.side) == name(side));
  CHECK(has(seen.reason, reason));
  CHECK(!seen.ifDirect.empty());
  CHECK(!seen.ifStaged.empty());
}

}  // namespace gdrbench::test
