// SPDX-License-Identifier: Apache-2.0
#include "harness/run/plan.h"

#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <set>

#include "harness/core/json.h"
#include "harness/run/options.h"
#include "harness/run/wire.h"

using namespace gdrbench;

namespace {

const Registry& registry() {
  static const Registry all = builtinTransports();
  return all;
}

Result<Plan> planOf(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  auto config = config::loadText(catalogue(registry()), yaml, "test.yaml", sets);
  if (!config) return config.error();
  return makePlan(*config, registry());
}

Plan goodPlan(const std::string& yaml) {
  auto plan = planOf(yaml);
  if (!plan) FAIL(plan.error().what());
  return *std::move(plan);
}

std::string errorOf(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const auto plan = planOf(yaml, sets);
  return plan ? "no error" : plan.error().what();
}

constexpr const char* kSmall =
    "transports: [tcp, loopback]\npatterns: [ping-pong: {sizes: [8, 64]}]\n";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plan is the product of its lists, compared transports next to each other") {
  const Plan plan = goodPlan(
      "transports: [tcp, loopback]\n"
      "patterns:\n"
      "  - ping-pong: {sizes: [8, 64]}\n"
      "  - stream: {sizes: [1KiB], window: [1, 16], batch: 1, direction: [uni, bi]}\n");
  REQUIRE(plan.cases.size() == 2 * 2 + 2 * 4);
  CHECK(plan.cases[0].id == "tcp/host/direct/ping-pong/8B");
  CHECK(plan.cases[1].id == "loopback/host/direct/ping-pong/8B");
  CHECK(plan.cases[4].id == "tcp/host/direct/stream/1KiB/uni/w1/b1");
  std::set<std::string> ids;
  for (const Case& c : plan.cases) ids.insert(c.id);
  CHECK(ids.size() == plan.cases.size());
  CHECK(plan.base == "tcp");
}

TEST_CASE("the paths of an entry take the place of the configuration's") {
  const Plan plan = goodPlan(
      "transports:\n"
      "  - nccl\n"
      "  - tcp: {paths: [staged]}\n"
      "  - nccl: {label: shm, paths: [library-staged], env: {NCCL_P2P_DISABLE: 0}}\n"
      "memory: {src: cuda:0, dst: cuda:1}\npaths: direct\n"
      "patterns: [ping-pong: {sizes: 8}]\n");
  REQUIRE(plan.cases.size() == 3);
  CHECK(plan.cases[0].path == "direct");
  CHECK(plan.cases[1].id == "tcp/cuda:0-cuda:1/staged/ping-pong/8B");
  CHECK_FALSE(plan.cases[1].skip);
  CHECK(plan.cases[2].path == "library-staged");
  // What the user sets comes last, and counts.
  CHECK(plan.cases[2].env.front() == EnvironmentSetting{"NCCL_P2P_DISABLE", "1"});
  CHECK(plan.cases[2].env.back() == EnvironmentSetting{"NCCL_P2P_DISABLE", "0"});
}

TEST_CASE("paths that cannot be are skipped with the reason") {
  const Plan plan = goodPlan(
      "transports: [tcp, nccl, {libfabric: {provider: tcp, op: read}}]\n"
      "memory: {src: cuda:0, dst: cuda:1}\npaths: [direct, staged, library-staged]\n"
      "patterns: [ping-pong: {sizes: 8}]\n");
  const auto skipOf = [&](const std::string& id) {
    for (const Case& c : plan.cases) {
      if (c.id == id) return c.skip.value_or("none");
    }
    return std::string("no such case");
  };
  CHECK(skipOf("tcp/cuda:0-cuda:1/direct/ping-pong/8B") == "tcp does not take cuda:0 memory");
  CHECK(contains(skipOf("tcp/cuda:0-cuda:1/library-staged/ping-pong/8B"), "offers no way"));
  CHECK(contains(skipOf("nccl/cuda:0-cuda:1/staged/ping-pong/8B"), "does not take pinned"));
  CHECK(contains(skipOf("libfabric:tcp/read/cuda:0-cuda:1/staged/ping-pong/8B"), "pushes"));
  CHECK(skipOf("nccl/cuda:0-cuda:1/library-staged/ping-pong/8B") == "none");
}

TEST_CASE("a control allocates as its own transport needs, whatever the rows ask for") {
  const Plan plan = goodPlan(
      "transports: [nccl]\nmemory: {src: cuda:0, dst: cuda:1}\ncuda_memory: vmm\n"
      "patterns: [ping-pong: {sizes: 8}]\n");
  REQUIRE(plan.cases.at(0).cudaMemory == "vmm");
  REQUIRE_FALSE(plan.controls.empty());
  for (const ControlCase& control : plan.controls) {
    CAPTURE(control.what);
    CHECK(control.testCase.cudaMemory == (control.testCase.label == "nccl" ? "vmm" : "auto"));
  }
}

TEST_CASE("a control is staged only where the library can be told to stage") {
  const Plan plan = goodPlan(
      "transports: [nccl, {libfabric: {provider: shm}}, {libfabric: {provider: efa}}]\n"
      "memory: {src: cuda:0, dst: cuda:1}\npatterns: [ping-pong: {sizes: 8}]\nwitness: full\n");
  std::set<std::string> told;
  for (const ControlCase& control : plan.controls) {
    if (control.testCase.path == "library-staged") told.insert(control.testCase.label);
  }
  CHECK(told == std::set<std::string>{"nccl", "libfabric:efa"});
}

TEST_CASE("stream drive: the effective window is the whole block, and a block is bounded") {
  const Plan plan = goodPlan(
      "transports: [nccl: {drive: stream}, nccl]\nmemory: {src: cuda:0, dst: cuda:1}\n"
      "patterns: [stream: {sizes: 8, window: 64, batch: 8}]\n");
  REQUIRE(plan.cases.size() == 2);
  const BlockPlan onStream = planBlocks(plan.cases[0]);
  CHECK(plan.cases[0].drive == Drive::kStream);
  CHECK(onStream.messages == 512);
  CHECK(onStream.window == onStream.messages);
  CHECK(planBlocks(plan.cases[1]).window == 64);
}

TEST_CASE("rounds alternate their order") {
  CHECK(orderOfRound(3, 0) == std::vector<std::size_t>{0, 1, 2});
  CHECK(orderOfRound(3, 1) == std::vector<std::size_t>{2, 1, 0});
  CHECK(orderOfRound(3, 2) == std::vector<std::size_t>{0, 1, 2});
}

namespace {

constexpr const char* kFourPairs =
    "memory: [{src: cuda:0, dst: cuda:1}, {src: cuda:2, dst: cuda:3}]\n"
    "patterns: [ping-pong: {sizes: [8]}]\n"
    "warmup: {min_time: 1ms, max_time: 50ms}\nstop: {min_time: 10ms, max_time: 300ms}\n";

}  // namespace

TEST_CASE("pairs one after the other, then disjoint ones at the same time") {
  const Plan plan = goodPlan(std::string("transports: [cuda_copy, nccl]\n"
                                         "pairs_at_once: [one, disjoint]\n") +
                             kFourPairs);
  REQUIRE(plan.cases.size() == 8);
  const std::vector<CaseGroup> expected = {{0}, {1}, {2}, {3}, {4, 5}, {6, 7}};
  CHECK(plan.groups == expected);
  CHECK(plan.cases[0].id == "cuda_copy/cuda:0-cuda:1/direct/ping-pong/8B");
  CHECK(plan.cases[4].id == "cuda_copy/cuda:0-cuda:1/direct/ping-pong/8B/disjoint");
  CHECK(plan.cases[5].id == "cuda_copy/cuda:2-cuda:3/direct/ping-pong/8B/disjoint");
  CHECK(plan.cases[6].label == "nccl");
  for (std::size_t i = 0; i < 4; ++i) CHECK(plan.cases[i].beside == 0);
  for (std::size_t i = 4; i < 8; ++i) {
    const Case& c = plan.cases[i];
    CAPTURE(c.id);
    CHECK(c.beside == 1);
    CHECK(c.pairNumber == i % 2);
    // For the same time: neither is over before the other because it was more precise.
    CHECK(c.warmup.minTimeNs == 50'000'000);
    CHECK(c.stop.minTimeNs == 300'000'000);
  }
  CHECK(plan.cases[0].stop.minTimeNs == 10'000'000);
}

TEST_CASE("a pair that has no other beside it, and one that cannot run, are skipped") {
  const Plan two = goodPlan(
      "transports: [cuda_copy]\npairs_at_once: disjoint\n"
      "memory: [{src: cuda:0, dst: cuda:1}, {src: cuda:1, dst: cuda:0}]\n"
      "patterns: [ping-pong: {sizes: [8]}]\n");
  CHECK(two.groups.empty());
  REQUIRE(two.cases.size() == 2);
  CHECK(contains(two.cases[0].skip.value_or(""), "no other pair without a GPU in common"));
  // tcp takes no GPU memory: nobody is left, and the reason is its own.
  const Plan tcp =
      goodPlan(std::string("transports: [tcp]\npairs_at_once: disjoint\n") + kFourPairs);
  CHECK(tcp.groups.empty());
  CHECK(contains(tcp.cases[0].skip.value_or(""), "tcp does not take"));
}

TEST_CASE("a pair that is listed twice is one, and nobody counts it as company") {
  const Plan plan = goodPlan(
      "transports: [cuda_copy]\npairs_at_once: disjoint\n"
      "memory: [{src: cuda:0, dst: cuda:1}, {src: cuda:2, dst: cuda:3}, {src: cuda:0, dst: "
      "cuda:1}]\n"
      "patterns: [ping-pong: {sizes: [8, 8]}]\n");
  CHECK(plan.groups == std::vector<CaseGroup>{{0, 1}});
  CHECK(plan.cases.size() == 2);
  CHECK(plan.cases[0].beside == 1);
}

TEST_CASE("one CPU pair cannot be given to several pairs at once") {
  const std::string error =
      errorOf(std::string("transports: [cuda_copy]\npairs_at_once: [one, disjoint]\n"
                          "cpus: {initiator: 0}\n") +
              kFourPairs);
  CHECK(contains(error, "all pairs would run on the same two"));
  CHECK(contains(error, "test.yaml:3"));
}

TEST_CASE("GPUs of pairs at once are named in one way, or they may be the same") {
  const auto config = [](const char* atOnce, const char* third) {
    return std::string("transports: [cuda_copy]\npairs_at_once: ") + atOnce +
           "\nmemory: [{src: cuda:0, dst: cuda:1}, {src: '" + third + "', dst: cuda:3}]\n" +
           "patterns: [ping-pong: {sizes: [8]}]\n";
  };
  for (const char* other : {"cuda:GPU-11aa", "cuda:0000:1b:00.0"}) {
    const std::string error = errorOf(config("disjoint", other));
    CHECK(contains(error, "which GPUs are the same"));
    CHECK(contains(error, "test.yaml:3"));
    CHECK(goodPlan(config("one", other)).cases.size() == 2);
  }
  CHECK(goodPlan(config("disjoint", "cuda:2")).groups.size() == 1);
}

TEST_CASE("what clashes is an error with its place") {
  CHECK(contains(
      errorOf("transports: [tcp]\npatterns:\n  - stream: {sizes: [8], window: 4, batch: 8}\n"),
      "batch 8 is above window 4"));
  CHECK(contains(errorOf(std::string(kSmall) + "base: tpc\n"), "test.yaml:3"));
  CHECK(contains(errorOf(std::string(kSmall) + "base: tpc\n"), "did you mean 'tcp'"));
  CHECK(contains(errorOf(std::string(kSmall) + "cpus: {initiator: 4000}\n"), "allowed"));
  CHECK(contains(errorOf("transports: [tcp: {label: a}, loopback: {label: a}]\n"
                         "patterns: [ping-pong: {sizes: [8]}]\n"),
                 "label 'a'"));
}

TEST_CASE("two entries of one transport get names of their own") {
  const Plan plan = goodPlan("transports: [tcp, tcp]\npatterns: [ping-pong: {sizes: [8]}]\n");
  CHECK(plan.cases[0].label == "tcp");
  CHECK(plan.cases[1].label == "tcp#2");
}

TEST_CASE("memory that a transport does not take is skipped, never replaced") {
  const Plan plan = goodPlan(std::string(kSmall) + "memory: [host, 'cuda:0']\n");
  REQUIRE(plan.cases.size() == 8);
  int skipped = 0;
  for (const Case& c : plan.cases) {
    if (!c.skip) continue;
    ++skipped;
    CHECK(contains(*c.skip, "cuda:0"));
  }
  CHECK(skipped == 4);
}

TEST_CASE("staging host memory is skipped with the reason") {
  const Plan plan = goodPlan(std::string(kSmall) + "paths: [direct, staged]\n");
  REQUIRE(plan.cases.size() == 8);
  CHECK_FALSE(plan.cases[0].skip);
  REQUIRE(plan.cases[1].skip);
  CHECK(contains(*plan.cases[1].skip, "host memory needs no staging"));
}

TEST_CASE("the effective configuration plans the same cases") {
  const config::Catalogue known = catalogue(registry());
  const std::string text = std::string(kSmall) + "rounds: 2\nstop: {max_time: 1s}\n";
  const auto config = config::loadText(known, text, "a.yaml", {});
  REQUIRE(config.ok());
  const auto plan = makePlan(*config, registry());
  const auto again = config::loadText(known, config::toYaml(known, *config), "b.yaml", {});
  REQUIRE_MESSAGE(again.ok(), again.error().what());
  const auto plan2 = makePlan(*again, registry());
  REQUIRE(plan.ok());
  REQUIRE(plan2.ok());
  CHECK(plan->digest == plan2->digest);
}

TEST_CASE("the digest changes with what is run") {
  CHECK(goodPlan(kSmall).digest == goodPlan(kSmall).digest);
  CHECK(goodPlan(kSmall).digest != goodPlan(std::string(kSmall) + "verify: off\n").digest);
  CHECK(goodPlan(kSmall).digest != goodPlan(std::string(kSmall) + "rounds: 4\n").digest);
}

TEST_CASE("a case survives the wire") {
  const Plan plan = goodPlan(
      "transports:\n"
      "  - tcp: {port: 7471, env: {A: 'b c', FI_X: '1'}, label: t}\n"
      "patterns: [stream: {sizes: [1MiB], window: 8, batch: 2, direction: bi}]\n"
      "stop: {iterations: 5000000000}\n"
      "verify: sample\n");
  const Case& c = plan.cases.front();
  const auto back = caseFromJson(toJson(c, registry()), registry());
  REQUIRE_MESSAGE(back.ok(), back.error().what());
  CHECK(digest(*back, registry()) == digest(c, registry()));
  CHECK(back->options.integer("port") == 7471);
  CHECK(back->env == c.env);
  CHECK(*back->stop.iterations == 5'000'000'000u);
  CHECK(back->direction == Direction::kBi);
  CHECK(back->verify == Verify::kSample);
}

TEST_CASE("a case that does not fit is refused with the reason") {
  Case c = goodPlan(kSmall).cases.front();
  auto json = toJson(c, registry());
  json.as_object()["bytes"] = 0;
  CHECK_FALSE(caseFromJson(json, registry()).ok());
  json = toJson(c, registry());
  json.as_object()["transport"] = "carrier pigeon";
  CHECK_FALSE(caseFromJson(json, registry()).ok());
  json = toJson(c, registry());
  json.as_object().erase("window");
  const auto missing = caseFromJson(json, registry());
  REQUIRE_FALSE(missing.ok());
  CHECK(contains(missing.error().what(), "window is missing"));
}

TEST_CASE("blocks: each message has a slot of its own when all are checked") {
  for (const std::uint64_t bytes : {1u, 7u, 64u, 4096u, 65536u, 1u << 20, 1u << 26}) {
    for (const char* pattern : {"ping-pong", "stream"}) {
      Case c;
      c.pattern = pattern;
      c.bytes = bytes;
      c.window = 64;
      const BlockPlan plan = planBlocks(c);
      CAPTURE(bytes);
      CAPTURE(pattern);
      CHECK(plan.messages >= 1);
      CHECK(plan.messages + plan.leadIn <= plan.layout.count);
      CHECK(plan.layout.stride >= bytes);
      CHECK(plan.layout.stride % 64 == 0);
      if (std::string_view(pattern) == "stream") CHECK(plan.messages >= c.window);
    }
  }
}

TEST_CASE("blocks: never more messages or window than iterations") {
  Case c;
  c.pattern = "stream";
  c.bytes = 64;
  c.window = 128;
  c.batch = 16;
  c.stop.iterations = 10;
  const BlockPlan plan = planBlocks(c);
  CHECK(plan.messages == 10);
  CHECK(plan.window == 10);
  CHECK(plan.batch == 10);
}

TEST_CASE("control messages survive the wire") {
  const wire::Failure failure{
      "measure", {ErrorCode::kTimeout, "wait", 110, "text with \"quotes\" \xC3\xA9", "retry"}, {}};
  const auto back = wire::decodeFailure(wire::encode(failure));
  REQUIRE_MESSAGE(back.ok(), back.error().what());
  CHECK(back->phase == "measure");
  CHECK(back->error.code == ErrorCode::kTimeout);
  CHECK(back->error.nativeText == failure.error.nativeText);

  const wire::Address address{"d", {std::byte{0}, std::byte{255}, std::byte{16}}};
  const auto there = wire::decodeAddress(wire::encodeAddress(address, MessageType::kPeer));
  REQUIRE(there.ok());
  CHECK(there->bytes == address.bytes);

  std::vector<double> samples(300'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i) * 0.5;
  std::vector<double> got;
  for (const ControlMessage& frame : wire::encodeSamples(samples)) {
    CHECK(frame.body.size() <= kMaxBody);
    REQUIRE(wire::appendSamples(frame, got).ok());
  }
  CHECK(got == samples);
}

TEST_CASE("bodies that do not fit are errors that name the message") {
  for (const char* body : {"", "{", "[]", "{}", "{\"claims\": 3}", "{\"claims\": [1]}"}) {
    const auto ready = wire::decodeReady({MessageType::kReady, body});
    REQUIRE_FALSE(ready.ok());
    CHECK(ready.error().code == ErrorCode::kProtocol);
    CHECK(contains(ready.error().what(), std::string(name(MessageType::kReady))));
  }
  CHECK_FALSE(wire::decodeHello({MessageType::kReady, "{}"}).ok());
  CHECK_FALSE(wire::decodeAddress({MessageType::kPeer, R"({"digest":"a","bytes":"0g"})"}).ok());
  CHECK_FALSE(wire::decodeAddress({MessageType::kPeer, R"({"digest":"a","bytes":"abc"})"}).ok());
  std::vector<double> none;
  CHECK_FALSE(wire::appendSamples({MessageType::kSamples, "1234567"}, none).ok());
}
