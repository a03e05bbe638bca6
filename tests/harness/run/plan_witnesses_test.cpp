// SPDX-License-Identifier: Apache-2.0
// Which rows are watched how closely, and what the witnesses have to show first.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "harness/run/frozen_peer.h"
#include "harness/run/options.h"
#include "harness/run/plan.h"
#include "harness/run/wire.h"

namespace gdrbench {
namespace {

const Registry& registry() {
  static const Registry all = builtinTransports();
  return all;
}

Plan planOf(const std::string& yaml) {
  auto config = config::loadText(catalogue(registry()), yaml, "test.yaml", {});
  REQUIRE_MESSAGE(config, config.error().what());
  auto plan = makePlan(*config, registry());
  REQUIRE_MESSAGE(plan, plan.error().what());
  return *std::move(plan);
}

constexpr const char* kSmall = "patterns: [ping-pong: {sizes: [8]}]\n";
constexpr const char* kGpus = "memory: {src: cuda:0, dst: cuda:1}\n";

std::vector<std::string> labels(const Plan& plan) {
  std::vector<std::string> all;
  for (const CaseGroup& group : plan.witnessed) {
    for (const std::size_t index : group) {
      all.push_back(plan.cases[index].label + "/" + plan.cases[index].source.text());
    }
  }
  return all;
}

std::vector<std::string> controls(const Plan& plan) {
  std::vector<std::string> all;
  for (const ControlCase& control : plan.controls) {
    all.push_back(control.testCase.label + (control.staged ? " staged" : " direct"));
  }
  std::sort(all.begin(), all.end());
  return all;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("auto: rows with GPU memory get a witness pass, others none") {
  const Plan plan = planOf(std::string("transports: [tcp, cuda_copy]\n"
                                       "memory: [host, {src: cuda:0, dst: cuda:1}]\n") +
                           kSmall);
  CHECK(labels(plan) == Words{"cuda_copy/cuda:0"});
  for (const Case& c : plan.cases) CHECK(c.watching == Watching::kFree);
}

TEST_CASE("full: every row that moves bytes, and none with free and off") {
  const std::string base = std::string("transports: ['null', tcp]\n") + kSmall;
  CHECK(labels(planOf(base + "witness: full\n")) == Words{"tcp/host"});
  CHECK(planOf(base + "witness: full\n").controls.empty());  // no GPU: nothing to tell apart
  for (const char* word : {"free", "off"}) {
    CAPTURE(word);
    const Plan plan = planOf(base + "witness: " + word + "\n");
    CHECK(plan.witnessed.empty());
    for (const Case& c : plan.cases) {
      CHECK((c.watching == Watching::kNone) == (word == std::string("off")));
    }
  }
}

TEST_CASE("controls: one of each truth for a pair of memories, and the library told to stage") {
  const Plan one = planOf(std::string("transports: [cuda_copy]\n") + kGpus + kSmall);
  CHECK(controls(one) == Words{"cuda_copy direct", "loopback staged"});
  const Plan more = planOf(std::string("transports: [cuda_copy, nccl]\n") + kGpus +
                           "patterns: [ping-pong: {sizes: [8, 64]}]\n");
  CHECK(controls(more) == Words{"cuda_copy direct", "loopback staged", "nccl staged"});
  for (const ControlCase& control : more.controls) {
    CAPTURE(control.testCase.id);
    CHECK_FALSE(control.what.empty());
    CHECK(control.testCase.watching == Watching::kAll);
    CHECK(control.testCase.bytes == 1 << 20);
    const bool library = control.testCase.label == "nccl";
    CHECK(control.testCase.env.empty() != library);
  }
}

TEST_CASE("a control of each truth for each pair, within a single GPU too") {
  const Plan pairs = planOf(std::string("transports: [cuda_copy]\n"
                                        "memory: [{src: cuda:0, dst: cuda:1}, "
                                        "{src: cuda:1, dst: cuda:0}]\n") +
                            kSmall);
  CHECK(pairs.controls.size() == 4);
  const Plan same = planOf(std::string("transports: [cuda_copy]\nmemory: cuda:0\n") + kSmall);
  CHECK(controls(same) == Words{"cuda_copy direct", "loopback staged"});
}

TEST_CASE("between a GPU and host memory no control could run, so none is planned") {
  const Plan plan = planOf(std::string("transports: [cuda_copy: {processes: 1}]\n"
                                       "memory: [{src: pinned, dst: cuda:0}, "
                                       "{src: cuda:0, dst: pinned}]\n") +
                           kSmall);
  CHECK(plan.witnessed.size() == 2);
  CHECK(plan.controls.empty());
}

TEST_CASE("pairs at once are watched at once, and each pair's controls run alone") {
  const Plan plan = planOf(std::string("transports: [cuda_copy]\npairs_at_once: disjoint\n"
                                       "memory: [{src: cuda:0, dst: cuda:1}, "
                                       "{src: cuda:2, dst: cuda:3}]\n") +
                           kSmall);
  REQUIRE(plan.witnessed.size() == 1);
  CHECK(plan.witnessed[0] == CaseGroup{0, 1});
  CHECK(witnessPass(plan.cases[1]).beside == 1);
  CHECK(plan.controls.size() == 4);
  for (const ControlCase& control : plan.controls) {
    CHECK(control.testCase.beside == 0);
    CHECK(control.testCase.pairNumber == 0);
  }
  CHECK(describePlan(plan).find("and 2 witness passes") != std::string::npos);
}

TEST_CASE("a described plan names what follows the rounds") {
  const Plan plan = planOf(std::string("transports: [cuda_copy]\n") + kGpus + kSmall);
  CHECK(describePlan(plan).find("then 2 controls of the path and 1 witness passes") !=
        std::string::npos);
  const Plan none = planOf(std::string("transports: [tcp]\n") + kSmall);
  CHECK(describePlan(none).find("witness") == std::string::npos);
}

TEST_CASE("a witness pass is the same case, short and without samples") {
  const Plan plan = planOf(std::string("transports: [tcp]\nwitness: full\n") + kSmall +
                           "stop: {min_time: 2s, max_time: 9s}\n");
  const Case pass = witnessPass(plan.cases[0]);
  CHECK(pass.id == plan.cases[0].id);
  CHECK(pass.watching == Watching::kAll);
  CHECK(pass.rawSamples == 0);
  CHECK(pass.stop.maxTimeNs < 1'000'000'000);
  CHECK(pass.stop.minTimeNs <= pass.stop.maxTimeNs);
}

TEST_CASE("within one GPU a witness pass is too short for a counter of 32 bits to turn over") {
  const Plan plan = planOf(
      "transports: [cuda_copy, tcp: {paths: [staged]}]\nmemory: [cuda:0, {src: cuda:0, dst: "
      "cuda:1}]\n"
      "patterns:\n  - ping-pong: {sizes: [8, 4MiB, 1GiB]}\n"
      "  - stream: {sizes: [16MiB], window: 64}\n");
  std::size_t bounded = 0;
  for (const Case& c : plan.cases) {
    CAPTURE(c.id);
    const Case pass = witnessPass(c);
    const bool within = c.source == c.destination && c.path == kDirectPath;
    CHECK(pass.stop.iterations.has_value() == within);
    if (!within) continue;
    ++bounded;
    CHECK(*pass.stop.iterations >= c.window);
    CHECK(*pass.stop.iterations * c.bytes <= std::uint64_t{1} << 30);
    if (c.bytes == 4 << 20) CHECK(*pass.stop.iterations == 64);
  }
  CHECK(bounded == 4);
  const Plan few = planOf(std::string("transports: [cuda_copy]\nmemory: cuda:0\n") + kSmall +
                          "stop: {iterations: 20}\n");
  CHECK(witnessPass(few.cases[0]).stop.iterations == 20);
}

TEST_CASE("the watching of a case travels to its workers") {
  Case c = planOf(std::string("transports: [tcp]\n") + kSmall).cases[0];
  for (const Watching watching : {Watching::kNone, Watching::kFree, Watching::kAll}) {
    c.watching = watching;
    const auto message = wire::encode(wire::Assign{.testCase = c}, registry());
    const auto back = wire::decodeAssign(message, registry());
    REQUIRE(back);
    CHECK(back->testCase.watching == watching);
  }
}

TEST_CASE("steps of the frozen peer travel, and others are refused") {
  using Kind = FrozenStep::Kind;
  for (const Kind kind : {Kind::kReady, Kind::kProbe, Kind::kProbed, Kind::kLook, Kind::kLooked}) {
    const auto back = wire::decodeFrozen(wire::encode(FrozenStep{kind, true, "caf\xff"}));
    REQUIRE(back);
    CHECK(back->kind == kind);
    CHECK(back->good);
    CHECK_FALSE(back->detail.empty());
  }
  for (const char* body : {"", "{}", "[]", R"({"step":"jump","good":true,"detail":""})",
                           R"({"step":"look","good":1,"detail":""})"}) {
    CAPTURE(body);
    CHECK_FALSE(wire::decodeFrozen({MessageType::kFrozen, body}));
  }
  CHECK_FALSE(wire::decodeFrozen({MessageType::kChunk, "{}"}));
}

TEST_CASE("who cannot be frozen says why") {
  const Case c = planOf(std::string("transports: [tcp]\n") + kSmall).cases[0];
  Capabilities can = capabilitiesOf(c, registry());
  CHECK_FALSE(notFreezable(c, can));
  can.peerMustRun = true;
  CHECK(notFreezable(c, can)->find("threads") != std::string::npos);
  can = {.flow = DataFlow::kNone};
  CHECK(notFreezable(c, can)->find("no bytes") != std::string::npos);
  can = {.oneProcess = true};
  CHECK(notFreezable(c, can)->find("one process") != std::string::npos);
  Case driven = c;
  driven.drive = Drive::kStream;
  CHECK(notFreezable(driven, {})->find("device") != std::string::npos);
}

TEST_CASE("what both steps of the frozen peer come to") {
  const Case c = planOf(std::string("transports: [tcp]\n") + kSmall).cases[0];
  using Kind = FrozenStep::Kind;
  for (const bool probed : {false, true}) {
    for (const bool looked : {false, true}) {
      const auto seen = frozenPeerSeen(c, {.flow = DataFlow::kPush}, {Kind::kProbed, probed, "a"},
                                       {Kind::kLooked, looked, "b"});
      CHECK((seen.outcome == evidence::Outcome::kDirect) == (probed && looked));
      CHECK(seen.way == evidence::Way::kOut);
      CHECK(seen.side == evidence::Side::kSink);
      CHECK(seen.bytes == c.bytes);
    }
  }
  const auto pulled = frozenPeerSeen(c, {.flow = DataFlow::kPull}, {Kind::kProbed, true, "a"},
                                     {Kind::kLooked, true, ""});
  CHECK(pulled.way == evidence::Way::kBack);
  CHECK(pulled.side == evidence::Side::kSource);
  const auto missing = frozenPeerMissing(c, "no reason");
  CHECK(missing.outcome == evidence::Outcome::kUnavailable);
  CHECK(missing.reason == "no reason");
}

}  // namespace gdrbench
