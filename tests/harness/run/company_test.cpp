// SPDX-License-Identifier: Apache-2.0
#include "harness/run/company.h"

#include <doctest/doctest.h>

using namespace gdrbench;

namespace {

/// From and to in milliseconds; `timed` in seconds.
Companion companion(int from, int to, double timed) {
  using std::chrono::milliseconds;
  return {{std::chrono::steady_clock::time_point(milliseconds(from)),
           std::chrono::steady_clock::time_point(milliseconds(to))},
          timed};
}

}  // namespace

TEST_CASE("two that move messages all the time, at the same time, keep each other full company") {
  const std::vector<Companion> both = {companion(0, 1000, 1), companion(0, 1000, 1)};
  CHECK(companyOf(both) == std::vector<double>{1, 1});
}

TEST_CASE("who began later, ended earlier or was busy with checking is less company") {
  const std::vector<Companion> late = {companion(0, 1000, 1), companion(500, 1000, 0.5)};
  CHECK(companyOf(late)[0] == doctest::Approx(0.5));
  CHECK(companyOf(late)[1] == doctest::Approx(1));
  const std::vector<Companion> some = {companion(0, 1000, 1), companion(0, 1000, 0.9),
                                       companion(200, 1000, 0.8)};
  CHECK(companyOf(some)[0] == doctest::Approx(0.8));
  const std::vector<Companion> checking = {companion(0, 1000, 1), companion(0, 1000, 0.25)};
  CHECK(companyOf(checking)[0] == doctest::Approx(0.25));
  CHECK(companyOf(checking)[1] == doctest::Approx(1));
}

TEST_CASE("of several, the least: one that was not there is seen among many") {
  const std::vector<Companion> three = {companion(0, 1000, 1), companion(0, 1000, 1),
                                        companion(2000, 3000, 1)};
  CHECK(companyOf(three)[0] == doctest::Approx(0));
  CHECK(companyOf(three)[2] == doctest::Approx(0));
}

TEST_CASE("alone, or not measured at all: none") {
  CHECK(companyOf({}).empty());
  CHECK(companyOf(std::vector<Companion>{companion(0, 1000, 1)}) == std::vector<double>{0});
  const std::vector<Companion> failed = {companion(0, 1000, 1), Companion{}};
  CHECK(companyOf(failed) == std::vector<double>{0, 0});
  // A clock that disagrees with another by a little makes no more than all of the time.
  CHECK(companyOf(std::vector<Companion>{companion(0, 10, 1), companion(0, 10, 1)})[0] <= 1);
}
