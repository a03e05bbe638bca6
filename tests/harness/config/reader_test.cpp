// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;

TEST_CASE("a small configuration is completed with defaults") {
  const RunConfig config = loaded(std::string(kSmallest));
  CHECK(config.run.integer("rounds") == 3);
  CHECK(!config.run.given("rounds"));
  CHECK(config.run.flag("raw"));
  CHECK(config.groups.size() == 2);
  CHECK(config.groups.at("stop").number("precision") == doctest::Approx(0.01));
  CHECK(!config.groups.at("stop").has("iterations"));
  REQUIRE(config.transports.size() == 1);
  CHECK(config.transports[0].transport == "wire");
  CHECK(config.transports[0].label.empty());
  CHECK(config.transports[0].options.integer("buffer") == 65536);
  CHECK(config.transports[0].place.text() == "t.yaml:1:14");
  REQUIRE(config.memory.size() == 1);
  CHECK(config.memory[0].source == "host");
  CHECK(config.memory[0].destination == "host");
  CHECK(config.places.contains("transports"));
  CHECK(!config.places.contains("rounds"));
}

TEST_CASE("values of every type are read") {
  const RunConfig config = loaded(
      "name: '010'\nrounds: 7\npaths: [direct, staged]\nverify: off\ntimeout: 1.5s\nraw: false\n"
      "stop: {iterations: 5000000000, precision: 0.5%, max_time: 250ms}\n"
      "expect: {min_GBps: 4.5e1, path: direct}\n"
      "memory: [cuda:0, {src: host, dst: 'cuda:1'}]\n"
      "transports:\n"
      "  - wire:\n"
      "      label: a\n"
      "      library: /opt/x.so\n"
      "      env: {B: 1, A: 010, C_2: true, D: \"\"}\n"
      "      provider: verbs;ofi_rxm\n"
      "      buffer: 8KiB\n"
      "  - card: {device: 0}\n"
      "  - nothing: {}\n"
      "patterns:\n"
      "  - stream: {sizes: 64, window: [1, 2], direction: bi}\n");
  CHECK(config.run.text("name") == "010");
  CHECK(config.run.given("rounds"));
  CHECK(config.run.list("paths").size() == 2);
  CHECK(config.run.text("verify") == "off");
  CHECK(config.run.integer("timeout") == 1'500'000'000);
  CHECK(!config.run.flag("raw"));
  CHECK(config.groups.at("stop").integer("iterations") == 5'000'000'000);
  CHECK(config.groups.at("expect").number("min_GBps") == 45.0);
  CHECK(config.memory[0].source == "cuda:0");
  CHECK(config.memory[1].source == "host");
  CHECK(config.memory[1].destination == "cuda:1");
  const TransportConfig& wire = config.transports[0];
  CHECK(wire.label == "a");
  CHECK(wire.library == "/opt/x.so");
  using Env = std::vector<std::pair<std::string, std::string>>;
  CHECK(wire.env == Env{{"A", "010"}, {"B", "1"}, {"C_2", "true"}, {"D", ""}});
  CHECK(wire.options.text("provider") == "verbs;ofi_rxm");
  CHECK(config.transports[1].options.text("device") == "0");
  CHECK(config.patterns[0].options.list("window").size() == 2);
  CHECK(config.patterns[0].options.text("direction") == "bi");
  CHECK(config.places.at("stop.precision").text() == "t.yaml:7:32");
}

TEST_CASE("an unknown key names the nearest valid one") {
  CHECK(errorWith("stop:\n  itertions: 5\n") ==
        "t.yaml:4:3: unknown key 'itertions' in 'stop'; did you mean 'iterations'?");
  CHECK(errorWith("ronuds: 5\n") == "t.yaml:3:1: unknown key 'ronuds'; did you mean 'rounds'?");
  CHECK_CONTAINS(errorWith("memroy: host\n"), "did you mean 'memory'?");
  CHECK_CONTAINS(errorWith("zzzzzzzzz: host\n"), "unknown key 'zzzzzzzzz'; one of: name, rounds,");
  CHECK_CONTAINS(errorOf("transports: [{wire: {prt: 1}}]"),
                 "t.yaml:1:22: unknown key 'prt' in 'wire'; did you mean 'port'?");
  CHECK_CONTAINS(errorOf("transports: [{wire: {enb: 1}}]"), "did you mean 'env'?");
  CHECK_CONTAINS(errorOf("patterns: [{stream: {windo: 1}}]"), "did you mean 'window'?");
  CHECK_CONTAINS(errorOf("patterns: [{stream: {size: 1}}]"), "did you mean 'sizes'?");
  CHECK_CONTAINS(errorWith("memory: {src: host, dest: host}\n"),
                 "unknown key 'dest' in 'memory'; did you mean 'dst'?");
  CHECK(errorWith(std::string(100'000, 'k') + ": 5\n").size() < 400);
}

TEST_CASE("an unknown transport or pattern names the nearest one") {
  CHECK(errorOf("transports: [WIRE]") ==
        "t.yaml:1:14: unknown transport 'WIRE'; did you mean 'wire'?");
  CHECK_CONTAINS(errorOf("transports: [{wrie: {}}]"), "did you mean 'wire'?");
  CHECK_CONTAINS(errorOf("patterns: [{ping_pong: {sizes: 1}}]"),
                 "unknown pattern 'ping_pong'; did you mean 'ping-pong'?");
}

TEST_CASE("a bad value is quoted with its place, its key and what is accepted") {
  CHECK(errorWith("rounds: 0\n") == "t.yaml:3:9: key 'rounds': '0' is out of range: 1 .. 1000");
  CHECK_CONTAINS(errorWith("rounds: 010\n"), "t.yaml:3:9: key 'rounds': '010'");
  CHECK_CONTAINS(errorWith("timeout: 1:30\n"), "key 'timeout': '1:30'");
  CHECK_CONTAINS(errorWith("timeout: 5\n"), "key 'timeout': '5'");
  CHECK_CONTAINS(errorWith("timeout: 0\n"), "key 'timeout': '0'");
  CHECK_CONTAINS(errorWith("stop: {precision: 1}\n"), "key 'stop.precision': '1'");
  CHECK_CONTAINS(errorWith("raw: yes\n"), "key 'raw': 'yes' is neither true nor false");
  CHECK_CONTAINS(errorWith("verify: al\n"), "'al' is none of all | sample | off");
  CHECK_CONTAINS(errorWith("verify: al\n"), "did you mean 'all'?");
  CHECK_CONTAINS(errorOf("transports: [{wire: {op: reed}}]"), "did you mean 'read'?");
  CHECK_CONTAINS(errorOf("transports: [{wire: {op: Read}}]"), "key 'wire.op': 'Read'");
  CHECK_CONTAINS(errorOf("transports: [{wire: {port: 0777}}]"), "key 'wire.port': '0777'");
  CHECK_CONTAINS(errorOf("transports: [{wire: {port: 65536}}]"), "0 .. 65535");
  CHECK_CONTAINS(errorOf("transports: [{wire: {buffer: 100 gigs}}]"), "'100 gigs'");
  CHECK_CONTAINS(errorOf("patterns: [{stream: {sizes: 1, window: [1, 0]}}]"),
                 "key 'stream.window': '0'");
  CHECK(errorWith("rounds: " + std::string(100'000, '1') + "\n").size() < 400);
}

TEST_CASE("quotes make a text of anything but a text") {
  CHECK(errorWith("rounds: \"12\"\n") ==
        "t.yaml:3:9: key 'rounds': \"12\" is a text because of its quotes; accepted: 1 .. 1000; "
        "remove the quotes");
  CHECK_CONTAINS(errorWith("raw: 'true'\n"), "remove the quotes");
  CHECK(loadedWith("name: \"null\"\nverify: \"off\"\n").run.text("name") == "null");
}

TEST_CASE("a key without a value is an error") {
  for (const char* null : {"", "~", "null", "Null", "NULL"}) {
    INFO(null);
    CHECK_CONTAINS(errorWith("rounds: " + std::string(null) + "\n"), "key 'rounds' has no value");
    CHECK_CONTAINS(errorWith("name: " + std::string(null) + "\n"), "key 'name' has no value");
    CHECK_CONTAINS(errorWith("stop: " + std::string(null) + "\n"), "key 'stop' has no value");
    CHECK_CONTAINS(errorWith("memory: " + std::string(null) + "\n"), "key 'memory' has no value");
    CHECK_CONTAINS(errorOf("transports: " + std::string(null) + "\n"), "has no value");
    CHECK_CONTAINS(errorOf("transports:\n  - " + std::string(null) + "\n"), "has no value");
    CHECK_CONTAINS(errorOf("transports:\n  - wire: " + std::string(null) + "\n"),
                   "key 'wire' has no value");
    CHECK_CONTAINS(errorOf("transports: [{wire: {env: {A: " + std::string(null) + "}}}]\n"),
                   "key 'wire.env.A' has no value");
    CHECK_CONTAINS(errorOf("transports: [{wire: {label: " + std::string(null) + "}}]\n"),
                   "key 'wire.label' has no value");
  }
  CHECK(loadedWith("name: \"\"\n").run.text("name").empty());
  CHECK(loadedWith("stop: {}\n").groups.at("stop").has("precision"));
}

TEST_CASE("a value of the wrong shape is an error") {
  CHECK_CONTAINS(errorWith("rounds: [1]\n"), "key 'rounds' takes one value, not a list");
  CHECK_CONTAINS(errorWith("rounds: {a: 1}\n"), "key 'rounds' takes a value, not a map");
  CHECK_CONTAINS(errorWith("paths: []\n"), "key 'paths' is an empty list");
  CHECK_CONTAINS(errorWith("paths: [[direct]]\n"), "key 'paths' takes one value, not a list");
  CHECK_CONTAINS(errorWith("stop: 5\n"), "'stop' takes a map of keys");
  CHECK_CONTAINS(errorWith("memory: []\n"), "'memory' is an empty list");
  CHECK_CONTAINS(errorWith("memory: [[host]]\n"), "an entry of 'memory' is a name or");
  CHECK_CONTAINS(errorWith("memory: {src: host}\n"), "key 'dst' is missing in 'memory'");
  CHECK_CONTAINS(errorWith("memory: \"\"\n"), "that is not empty");
  CHECK_CONTAINS(errorOf("transports: wire"), "'transports' takes a list");
  CHECK_CONTAINS(errorOf("transports: []"), "key 'transports' is an empty list");
  CHECK_CONTAINS(errorOf("transports: [[wire]]"), "an entry of 'transports' cannot be a list");
  CHECK_CONTAINS(errorOf("transports: [{}]"), "an entry of 'transports' is empty");
  CHECK_CONTAINS(errorOf("transports: [{wire: 5}]"), "'wire' takes a map of keys");
  CHECK_CONTAINS(errorOf("transports: [{wire: {label: [a]}}]"), "takes one value, not a list");
}

TEST_CASE("options on the level of their name are an error that says what to indent") {
  CHECK(errorOf("transports:\n  - wire:\n    port: 7\n") ==
        "t.yaml:3:5: an entry of 'transports' has one name, here 'wire'; 'port' is another key; "
        "indent the options of 'wire' deeper than its name");
}

TEST_CASE("what is required must be there") {
  CHECK(errorOf("rounds: 1\n") == "t.yaml: key 'transports' is missing");
  CHECK(errorOf("transports: [wire]\n") == "t.yaml: key 'patterns' is missing");
  CHECK(errorOf("transports: [card]\n") ==
        "t.yaml:1:14: key 'device' is missing in 'card'; accepted: text");
}

TEST_CASE("labels are unique") {
  const std::string patterns = "patterns: [{ping-pong: {sizes: 1}}]\n";
  CHECK(errorOf(patterns + "transports:\n  - wire: {label: a}\n  - nothing: {label: a}\n") ==
        "t.yaml:4:22: label 'a' is already used at t.yaml:3:19");
  CHECK(
      loaded(patterns + "transports: [wire, wire, {nothing: {label: wire}}]\n").transports.size() ==
      3);
  CHECK_CONTAINS(errorOf("transports: [{wire: {label: \"a\\nb\"}}]"), "a text on one line");
  CHECK_CONTAINS(errorOf("transports: [{wire: {label: ''}}]"), "that is not empty");
}

TEST_CASE("names of environment variables are checked") {
  for (const char* bad : {"1A", "A-B", "\"A B\"", "\"A=B\"", "\xc3\x84"}) {
    INFO(bad);
    CHECK_CONTAINS(errorOf("transports: [{wire: {env: {" + std::string(bad) + ": 1}}}]"),
                   "is no name of an environment variable");
  }
  CHECK_CONTAINS(errorOf("transports: [{wire: {env: {A: [1]}}}]"),
                 "key 'wire.env.A' takes one value, not a list");
  CHECK_CONTAINS(errorOf("transports: [{wire: {env: [A]}}]"), "'wire.env' takes a map of keys");
}

TEST_CASE("the order of keys does not matter") {
  std::vector<std::string> lines{"transports: [{wire: {port: 1, label: a, env: {X: 1, Y: 2}}}]\n",
                                 "patterns: [{stream: {window: 2, sizes: {max: 8, min: 2}}}]\n",
                                 "stop: {max_time: 1s, precision: 2%}\n", "rounds: 2\n"};
  std::sort(lines.begin(), lines.end());
  const std::string expected =
      toYaml(catalogue(), loaded("transports: [{wire: {env: {Y: 2, X: 1}, label: a, port: 1}}]\n"
                                 "patterns: [{stream: {sizes: {min: 2, max: 8}, window: 2}}]\n"
                                 "rounds: 2\nstop: {precision: 2%, max_time: 1s}\n"));
  do {
    std::string text;
    for (const std::string& line : lines) text += line;
    CHECK(toYaml(catalogue(), loaded(text)) == expected);
  } while (std::next_permutation(lines.begin(), lines.end()));
}

TEST_CASE("top-level keys that begin with x- are a place for anchors") {
  CHECK(loadedWith("x-anything: {rounds: zero}\n").run.integer("rounds") == 3);
  CHECK_CONTAINS(errorWith("stop: {x-a: 1}\n"), "unknown key 'x-a' in 'stop'");
}

TEST_CASE("the word null may be the name of a transport") {
  Catalogue known = catalogue();
  known.transports.push_back({"null", "moves nothing", kWireOptions});
  for (const char* entry : {"null", "\"null\"", "{null: {port: 3}}", "{\"null\": {}}"}) {
    INFO(entry);
    const std::string text =
        "transports: [" + std::string(entry) + "]\npatterns: [{ping-pong: {sizes: 1}}]\n";
    const std::vector<std::string> sets{"transports.0.null.port=7"};
    const Result<RunConfig> config = loadText(known, text, "t.yaml", sets);
    REQUIRE(config.ok());
    CHECK(config->transports[0].transport == "null");
    CHECK(config->transports[0].options.integer("port") == 7);
    const std::string written = toYaml(known, *config);
    CHECK_CONTAINS(written, "- \"null\":");
    CHECK(loadText(known, written, "t.yaml", {}).ok());
  }
}

TEST_CASE("long configurations are read") {
  std::string text = "patterns: [{ping-pong: {sizes: 1}}]\ntransports:\n";
  for (int i = 0; i < 10'000; ++i) text += "  - wire: {label: l" + std::to_string(i) + "}\n";
  CHECK(loaded(text).transports.size() == 10'000);
}
