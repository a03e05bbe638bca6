// SPDX-License-Identifier: Apache-2.0
// The options, and the edges of the rules; runner_test.cpp has the rules at work.
#include "harness/measure/stopping_rule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

using namespace gdrbench;

namespace {

const Option& named(OptionTable table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Option& o) { return o.name == name; });
  REQUIRE(found != table.end());
  return *found;
}

bool accepts(OptionTable table, std::string_view name, std::string_view text) {
  return parseOption(named(table, name), text).ok();
}

void set(OptionSet& options, OptionTable table, std::string_view name, std::string_view text) {
  const auto value = parseOption(named(table, name), text);
  REQUIRE(value.ok());
  options.set(name, {*value});
}

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("the rules by default") {
  CHECK(stopRule(OptionSet::defaults(stopOptions())) ==
        StopRule{.precision = 0.01, .minTimeNs = 500 * kMs, .maxTimeNs = 5000 * kMs});
  CHECK(warmupRule(OptionSet::defaults(warmupOptions())) ==
        WarmupRule{.minMessages = 1000, .minTimeNs = 100 * kMs, .maxTimeNs = 2000 * kMs});
}

TEST_CASE("the rules as set") {
  OptionSet stop = OptionSet::defaults(stopOptions());
  set(stop, stopOptions(), "precision", "0.5%");
  set(stop, stopOptions(), "min_time", "0");
  set(stop, stopOptions(), "max_time", "1h");
  set(stop, stopOptions(), "iterations", "5000000000");
  CHECK(stopRule(stop) == StopRule{.iterations = 5'000'000'000,
                                   .precision = 0.005,
                                   .minTimeNs = 0,
                                   .maxTimeNs = 3'600'000 * kMs});
  OptionSet warmup = OptionSet::defaults(warmupOptions());
  set(warmup, warmupOptions(), "messages", "0");
  set(warmup, warmupOptions(), "min_time", "0");
  set(warmup, warmupOptions(), "max_time", "0");
  CHECK(warmupRule(warmup) == WarmupRule{0, 0, 0});
}

TEST_CASE("each option has its range and says what it does") {
  for (const OptionTable table : {stopOptions(), warmupOptions()}) {
    for (const Option& option : table) {
      CAPTURE(option.name);
      CHECK(option.help.size() > 20);
      if (!option.fallback.empty()) CHECK(parseOption(option, option.fallback).ok());
    }
  }
  const OptionTable stop = stopOptions();
  CHECK(named(stop, "iterations").fallback.empty());
  CHECK(accepts(stop, "iterations", "1"));
  CHECK(accepts(stop, "iterations", "9007199254740992"));
  for (const std::string_view text :
       std::initializer_list<std::string_view>{"0", "-1", "9007199254740994", "1e3", "010", ""}) {
    CAPTURE(text);
    CHECK_FALSE(accepts(stop, "iterations", text));
  }
  CHECK(accepts(stop, "precision", "0.01%"));
  CHECK(accepts(stop, "precision", "50%"));
  for (const std::string_view text :
       std::initializer_list<std::string_view>{"0%", "0.009%", "51%", "0.01"}) {
    CAPTURE(text);
    CHECK_FALSE(accepts(stop, "precision", text));
  }
  CHECK_FALSE(accepts(stop, "max_time", "0"));
  CHECK_FALSE(accepts(stop, "max_time", "-1s"));
  CHECK_FALSE(accepts(warmupOptions(), "messages", "-1"));
  CHECK(accepts(warmupOptions(), "max_time", "0"));
}

TEST_CASE("no warm-up is over before it begins") {
  CHECK(SteadyState({0, 0, 0}).done(0, 0));
  CHECK(SteadyState({1000, 100 * kMs, 0}).done(0, 0));
  CHECK_FALSE(SteadyState({0, 0, 1}).done(0, 0));
}

TEST_CASE("steady takes 8 medians, within a hundredth, and looks at the last ones only") {
  SteadyState state({0, 0, 1000});
  for (int i = 0; i < 50; ++i) state.add(500 - i);  // warming up
  CHECK_FALSE(state.steady());
  for (int i = 0; i < 7; ++i) state.add(i % 2 == 0 ? 100.0 : 101.0);
  CHECK_FALSE(state.steady());
  state.add(101.0);  // 1 of 100.5 to 101: 1 % at the most
  CHECK(state.steady());
  state.add(101.1);
  CHECK_FALSE(state.steady());

  SteadyState few({0, 0, 1000});
  for (int i = 0; i < 7; ++i) few.add(100);
  CHECK_FALSE(few.steady());
  few.add(100);
  CHECK(few.steady());
}

TEST_CASE("the first reason that holds is given: precision before time, iterations before all") {
  const StopRule rule{.precision = 0.01, .minTimeNs = 100, .maxTimeNs = 1000};
  CHECK(StopDecision(rule).check({4000, 2000, 3688, 0.01}) == StopReason::kPrecision);
  CHECK(StopDecision(rule).check({4000, 2000, 3688, 0.0101}) == StopReason::kMaxTime);
  CHECK(StopDecision(rule).check({0, 1000, 3688, {}}) == StopReason::kMaxTime);
  CHECK_FALSE(StopDecision(rule).check({4000, 200, 3688, {}}));
  CHECK(StopDecision(rule).check({1, 100, 0, 0.01}) == StopReason::kPrecision);  // a stream
  StopRule counted = rule;
  counted.iterations = 10;
  CHECK_FALSE(StopDecision(counted).check({9, 5000, 0, 0.0}));
  CHECK(StopDecision(counted).check({10, 0, 3688, {}}) == StopReason::kIterations);
}

TEST_CASE("the noise floor counts only checks at which there is enough, and gain resets nothing") {
  const StopRule rule{.precision = 0.01, .minTimeNs = 100, .maxTimeNs = 1000};
  StopDecision early(rule);
  for (int i = 0; i < 20; ++i) CHECK_FALSE(early.check({4000, 99, 3688, 0.05}));
  for (int i = 0; i < 20; ++i) CHECK_FALSE(early.check({3687, 500, 3688, 0.05}));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(early.check({4000, 500, 3688, 0.05}));
  CHECK(early.check({4000, 500, 3688, 0.05}) == StopReason::kNoiseFloor);

  // 6 % better in total over four checks is a gain, 4 % is none.
  for (const double last : {0.047, 0.048}) {
    StopDecision decision(rule);
    for (const double p : {0.05, 0.05, 0.05, 0.05}) {
      CHECK_FALSE(decision.check({4000, 500, 3688, p}));
    }
    const auto reason = decision.check({4000, 500, 3688, last});
    CHECK(reason == (last < 0.0475 ? std::nullopt : std::optional(StopReason::kNoiseFloor)));
  }
  StopDecision worse(rule);
  for (const double p : {0.02, 0.03, 0.04, 0.05}) CHECK_FALSE(worse.check({4000, 500, 3688, p}));
  CHECK(worse.check({4000, 500, 3688, 0.06}) == StopReason::kNoiseFloor);
}

TEST_CASE("each reason has a word of its own") {
  CHECK(name(StopReason::kPrecision) == "precision");
  CHECK(name(StopReason::kIterations) == "iterations");
  CHECK(name(StopReason::kMaxTime) == "max_time");
  CHECK(name(StopReason::kNoiseFloor) == "noise_floor");
}
