// SPDX-License-Identifier: Apache-2.0
#include "harness/config/yaml_node.h"
#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;
using namespace std::string_literals;

TEST_CASE("a text that is no single document is refused") {
  CHECK(errorOf("") == "t.yaml: is empty: there is no configuration in it");
  CHECK_CONTAINS(errorOf("# only a comment\n"), "t.yaml: is empty");
  CHECK_CONTAINS(errorOf("---\n"), "t.yaml: is empty");
  CHECK_CONTAINS(errorOf("a: 1\n---\nb: 2\n"), "t.yaml:2:1: a second YAML document begins here");
  CHECK_CONTAINS(errorOf("a: 1\n...\nb: 2\n"), "a second YAML document begins here");
  CHECK_CONTAINS(errorOf("- a\n- b\n"), "t.yaml:1:1: a configuration is a map of keys");
  CHECK_CONTAINS(errorOf("word"), "t.yaml:1:1: a configuration is a map of keys");
}

TEST_CASE("broken YAML is an error with its place") {
  CHECK_CONTAINS(errorOf("a: \"open\nb: 2\n"), "t.yaml:1:4: ");
  CHECK_CONTAINS(errorOf("a: [1, 2\n"), "t.yaml:2:1: flow sequence without a closing bracket");
  CHECK_CONTAINS(errorOf("a:\n\tb: 1\n"), "t.yaml:2:1: tab character");
  CHECK_CONTAINS(errorOf("rounds: 1\nplain\n"), "t.yaml:2:1: invalid value after mapping");
  CHECK_CONTAINS(errorOf("a: *nothing\n"), "t.yaml:1:4: no anchor '&nothing' stands above");
  CHECK_CONTAINS(errorOf("a: !!str 12\n"), "YAML tags are not supported");
  CHECK_CONTAINS(errorOf("? [a]\n: b\n"), "t.yaml:1:3: a key must be a plain word");
  CHECK_CONTAINS(errorOf(": b\n"), "a key is missing before ':'");
}

TEST_CASE("a duplicate key is an error at the second one") {
  CHECK(errorWith("rounds: 1\nrounds: 1\n") == "t.yaml:4:1: duplicate key 'rounds'");
  CHECK(errorWith("stop:\n  max_time: 1s\n  \"max_time\": 2s\n") ==
        "t.yaml:5:3: duplicate key 'max_time'");
  CHECK_CONTAINS(errorWith("x-a: &a {}\nstop:\n  <<: *a\n  <<: *a\n"),
                 "t.yaml:6:3: duplicate key '<<'");
}

TEST_CASE("bytes that are no text are refused with their place") {
  CHECK_CONTAINS(errorOf("a: 1\nb: \xff\n"), "t.yaml:2:4: the text contains bytes that are not");
  CHECK_CONTAINS(errorOf("\xc0\xaf: 1"), "not valid UTF-8");          // overlong
  CHECK_CONTAINS(errorOf("a: \xed\xa0\x80"), "not valid UTF-8");      // surrogate
  CHECK_CONTAINS(errorOf("a: \xf4\x90\x80\x80"), "not valid UTF-8");  // above U+10FFFF
  CHECK_CONTAINS(errorOf("a: \xe2\x82"), "not valid UTF-8");          // cut off
  CHECK_CONTAINS(errorOf("a: b\0c"s), "t.yaml:1:5: the text contains a NUL byte");
  CHECK_CONTAINS(errorOf("a: \x1b[0m"), "a control character");
  CHECK_CONTAINS(errorWith("name: \"a\\0b\"\n"), "t.yaml:3:7: the value contains a NUL byte");
  CHECK(loadedWith("name: \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n").run.text("name") ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(loaded("\xef\xbb\xbf" + std::string(kSmallest)).transports.size() == 1);
}

TEST_CASE("depth is bounded, for nesting and for aliases of aliases") {
  CHECK_CONTAINS(errorOf(std::string(20'000, '[')), "t.yaml:1:65: nested deeper than 64 levels");
  CHECK_CONTAINS(errorOf("a: " + std::string(64, '[') + std::string(64, ']')), "nested deeper");
  std::string chain = "x-a0: &a0 [1]\n";
  for (int i = 1; i < 200; ++i) {
    chain += "x-a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
             std::to_string(i - 1) + "]\n";
  }
  CHECK_CONTAINS(errorOf(chain), "nested deeper than 64 levels");
}

TEST_CASE("aliases cannot unfold without bound") {
  std::string bomb = "x-a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "x-a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 8; ++k) bomb += ", " + below;
    bomb += "]\n";
  }
  CHECK_CONTAINS(errorOf(bomb), "anchors and aliases unfold to more than 100,000 values");
  CHECK_CONTAINS(errorOf("a: &a [*a]\n"), "t.yaml:1:8: '*a' contains itself");
}

TEST_CASE("a text that is too large is refused") {
  CHECK_CONTAINS(errorOf(std::string((4u << 20) + 1, '#')), "too large");
  const Source source{std::make_shared<const std::string>("t.yaml")};
  Budget budget;
  budget.nodes = 4;  // the map, its key, the list and one entry
  CHECK(parseYaml("a: [1]\n", source, budget).ok());
  budget.nodes = 4;
  const Result<Node> node = parseYaml("a: [1, 2]\n", source, budget);
  REQUIRE(!node.ok());
  CHECK_CONTAINS(node.error().what(), "t.yaml:1:8: more than 500,000 values");
}

TEST_CASE("an alias repeats its anchor's value") {
  const RunConfig config = loaded(
      "transports: [wire]\n"
      "patterns:\n"
      "  - ping-pong: {sizes: &sizes [8, 64]}\n"
      "  - stream: {sizes: *sizes, window: &w 7}\n"
      "  - stream: {sizes: 1, window: *w}\n");
  CHECK(config.patterns[1].sizes == std::vector<std::uint64_t>{8, 64});
  CHECK(config.patterns[2].options.integer("window") == 7);
}

TEST_CASE("a merge key brings keys that the map does not have") {
  const std::string text =
      "x-one: &one {port: 1, op: read, buffer: 1MiB}\n"
      "x-two: &two {port: 2, provider: two}\n"
      "patterns: [{ping-pong: {sizes: 64}}]\n"
      "transports:\n"
      "  - wire: {port: 9, <<: *one}\n"
      "  - wire: {<<: [*two, *one], op: write}\n"
      "  - wire: {<<: {port: 5}}\n";
  const RunConfig config = loaded(text);
  CHECK(config.transports[0].options.integer("port") == 9);
  CHECK(config.transports[0].options.text("op") == "read");
  CHECK(config.transports[1].options.integer("port") == 2);
  CHECK(config.transports[1].options.text("provider") == "two");
  CHECK(config.transports[1].options.text("op") == "write");
  CHECK(config.transports[1].options.integer("buffer") == 1 << 20);
  CHECK(config.transports[2].options.integer("port") == 5);
  CHECK_CONTAINS(errorOf("stop:\n  <<: [1]\n"), "t.yaml:2:8: '<<' takes a map or a list of maps");
  // Quoted, it is a key like any other.
  CHECK_CONTAINS(errorWith("stop: {\"<<\": {max_time: 1s}}\n"), "unknown key '<<' in 'stop'");
}

TEST_CASE("a merged key that is wrong is reported where it stands") {
  CHECK_CONTAINS(errorWith("x-one: &one\n  prot: 1\nstop: {<<: *one}\n"),
                 "t.yaml:4:3: unknown key 'prot' in 'stop'");
}

TEST_CASE("a text of many pieces is read whole") {
  std::string quotes, lines;
  for (int i = 0; i < 100; ++i) {
    quotes += "''";
    lines += "  line\n";
  }
  CHECK(loadedWith("name: '" + quotes + "'\n").run.text("name") == std::string(100, '\''));
  CHECK(loadedWith("name: |\n" + lines).run.text("name").size() == 500);
}

TEST_CASE("quoted texts are folded and unescaped") {
  const auto nameOf = [](const std::string& text) {
    return loadedWith("name: " + text + "\n").run.text("name");
  };
  CHECK(nameOf("'it''s'") == "it's");
  CHECK(nameOf("'a''''b'") == "a''b");
  CHECK(nameOf("''''") == "'");
  CHECK(nameOf("''").empty());
  CHECK(nameOf("' a  \n   b\n\n\n  c '") == " a b\n\nc ");
  CHECK(nameOf("'a\r\n  b\r\n\r\n  c'") == "a b\nc");
  CHECK(nameOf("'\xc3\xa4''\xe2\x82\xac'  # 'more'") == "\xc3\xa4'\xe2\x82\xac");
  CHECK(nameOf("\"a\n  b\"") == "a b");
  CHECK(nameOf("\"\\\"\\\\\\x41\\u20ac\\t\"") == "\"\\A\xe2\x82\xac\t");
  CHECK_CONTAINS(errorWith("name: \"a\\\\\\\n  b\"\n"),
                 "t.yaml:3:7: a text in double quotes with '\\' in it must stand on one line");
  CHECK_CONTAINS(errorWith("name: \"a\\ \n  b\"\n"), "must stand on one line");
}
