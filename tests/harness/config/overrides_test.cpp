// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;

namespace {
const std::string kText =
    "transports:\n  - wire\n  - wire: {label: b, port: 7}\n"
    "patterns:\n  - ping-pong: {sizes: 64}\n"
    "rounds: 2\n";
}  // namespace

TEST_CASE("--set replaces values at every depth") {
  const RunConfig config =
      loaded(kText, {"rounds=9", "stop.max_time=1s", "transports.1.wire.port=8",
                     "transports.0.wire.buffer=1MiB", "patterns.0.ping-pong.sizes=[8, 64]",
                     "name=\"a b\"", "memory={src: host, dst: pinned}"});
  CHECK(config.run.integer("rounds") == 9);
  CHECK(config.groups.at("stop").integer("max_time") == 1'000'000'000);
  CHECK(config.transports[1].options.integer("port") == 8);
  CHECK(config.transports[1].label == "b");
  CHECK(config.transports[0].options.integer("buffer") == 1 << 20);
  CHECK(config.patterns[0].sizes == std::vector<std::uint64_t>{8, 64});
  CHECK(config.run.text("name") == "a b");
  CHECK(config.memory[0].destination == "pinned");
  CHECK(config.places.at("rounds").text() == "--set rounds=9");
}

TEST_CASE("--set replaces a whole list") {
  const RunConfig config = loaded(kText, {"transports=[nothing]", "paths=[staged, direct]"});
  REQUIRE(config.transports.size() == 1);
  CHECK(config.transports[0].transport == "nothing");
  CHECK(config.run.list("paths").size() == 2);
}

TEST_CASE("the last --set of a key counts, and their order is free otherwise") {
  CHECK(loaded(kText, {"rounds=1", "rounds=4"}).run.integer("rounds") == 4);
  const RunConfig one = loaded(kText, {"rounds=4", "stop.precision=2%", "name=z"});
  const RunConfig two = loaded(kText, {"name=z", "stop.precision=2%", "rounds=4"});
  CHECK(toYaml(catalogue(), one) == toYaml(catalogue(), two));
}

TEST_CASE("a --set makes a file complete before it is checked") {
  CHECK(loaded("rounds: 1\n", {"transports=[wire]", "patterns=[{ping-pong: {sizes: 1}}]"})
            .transports.size() == 1);
}

TEST_CASE("a --set that cannot be applied is an error that repeats it") {
  CHECK(errorOf(kText, {"ronuds=3"}) ==
        "--set ronuds=3: unknown key 'ronuds'; did you mean 'rounds'?");
  CHECK_CONTAINS(errorOf(kText, {"stpo.max_time=1s"}), "unknown key 'stpo'; did you mean 'stop'?");
  CHECK_CONTAINS(
      errorOf(kText, {"stop.maxtime=1s"}),
      "--set stop.maxtime=1s: unknown key 'maxtime' in 'stop'; did you mean 'max_time'?");
  CHECK_CONTAINS(errorOf(kText, {"rounds=x"}), "--set rounds=x: key 'rounds': ");
  CHECK_CONTAINS(errorOf(kText, {"rounds"}), "--set rounds: write it as key=value");
  CHECK_CONTAINS(errorOf(kText, {"=3"}), "write it as key=value");
  CHECK_CONTAINS(errorOf(kText, {"stop..max_time=3"}), "a key is empty");
  CHECK_CONTAINS(errorOf(kText, {"rounds="}), "key 'rounds' has no value");
  CHECK_CONTAINS(errorOf(kText, {"rounds=~"}), "key 'rounds' has no value");
  CHECK_CONTAINS(errorOf(kText, {"rounds=1, 2"}), "give one value; a list stands in [ ]");
  CHECK_CONTAINS(errorOf(kText, {"rounds=[1"}), "--set rounds=[1: ");
  CHECK_CONTAINS(errorOf(kText, {"rounds=1], [2"}), "--set rounds=1], [2: ");
  CHECK_CONTAINS(errorOf(kText, {"rounds.x=1"}), "'rounds' is a single value: it has no 'x'");
  CHECK_CONTAINS(errorOf(kText, {"include=a.yaml"}), "'include' can only stand in a file");
}

TEST_CASE("a --set into a list names what is there") {
  CHECK_CONTAINS(errorOf(kText, {"transports.2=wire"}),
                 "'transports' has no entry '2': its entries are 0 to 1");
  CHECK_CONTAINS(errorOf(kText, {"transports.wire.port=1"}), "'transports' has no entry 'wire'");
  CHECK_CONTAINS(errorOf(kText, {"transports.1.wir.port=1"}),
                 "'transports.1' has no 'wir'; did you mean 'wire'?");
  CHECK_CONTAINS(errorOf(kText, {"transports.0.wir.port=1"}),
                 "'transports.0' has no 'wir'; did you mean 'wire'?");
  CHECK_CONTAINS(errorOf(kText, {"memory.0=host"}), "'memory' is not in the configuration");
}

TEST_CASE("a --set value is strict YAML") {
  CHECK_CONTAINS(errorOf(kText, {"name=\"open"}), "--set name=\"open: ");
  CHECK_CONTAINS(errorOf(kText, {"name=\xff"}), "not valid UTF-8");
  CHECK_CONTAINS(errorOf(kText, {"stop={max_time: 1s, max_time: 2s}"}), "duplicate key 'max_time'");
  CHECK_CONTAINS(errorOf(kText, {"name=*a"}), "no anchor '&a'");
}
