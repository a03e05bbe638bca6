// SPDX-License-Identifier: Apache-2.0
#include "harness/config/describe.h"
#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;

namespace {

using Values = std::vector<std::pair<std::string, std::vector<OptionValue>>>;

Values valuesOf(const OptionSet& set) {
  Values values;
  for (const auto& [name, entry] : set.entries()) values.emplace_back(name, entry.values);
  return values;
}

/// Places and what was given aside.
void checkEqual(const RunConfig& a, const RunConfig& b) {
  CHECK(valuesOf(a.run) == valuesOf(b.run));
  REQUIRE(a.groups.size() == b.groups.size());
  for (const auto& [name, set] : a.groups) CHECK(valuesOf(set) == valuesOf(b.groups.at(name)));
  REQUIRE(a.transports.size() == b.transports.size());
  for (std::size_t i = 0; i < a.transports.size(); ++i) {
    CHECK(a.transports[i].transport == b.transports[i].transport);
    CHECK(a.transports[i].label == b.transports[i].label);
    CHECK(a.transports[i].library == b.transports[i].library);
    CHECK(a.transports[i].env == b.transports[i].env);
    CHECK(valuesOf(a.transports[i].options) == valuesOf(b.transports[i].options));
  }
  REQUIRE(a.patterns.size() == b.patterns.size());
  for (std::size_t i = 0; i < a.patterns.size(); ++i) {
    CHECK(a.patterns[i].pattern == b.patterns[i].pattern);
    CHECK(a.patterns[i].sizes == b.patterns[i].sizes);
    CHECK(valuesOf(a.patterns[i].options) == valuesOf(b.patterns[i].options));
  }
  REQUIRE(a.memory.size() == b.memory.size());
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    CHECK(a.memory[i].source == b.memory[i].source);
    CHECK(a.memory[i].destination == b.memory[i].destination);
  }
}

void checkRoundTrip(const std::string& text) {
  const RunConfig first = loaded(text);
  const std::string written = toYaml(catalogue(), first);
  INFO(written);
  const RunConfig second = loaded(written);
  checkEqual(first, second);
  CHECK(toYaml(catalogue(), second) == written);
}

}  // namespace

TEST_CASE("what toYaml writes loads to the same configuration") {
  checkRoundTrip(std::string(kSmallest));
  checkRoundTrip(
      "transports:\n  - card: {device: 010, library: /opt/a b.so, env: {y: 1, N: 'no'}}\n"
      "  - nothing\n  - nothing: {label: 'two words'}\n"
      "patterns:\n  - stream: {sizes: [1, 1000, 1MB, 3MiB], window: [1, 2, 4], direction: bi}\n"
      "  - ping-pong: {sizes: {min: 1, max: 8000, step: 1}}\n"
      "memory: [cuda:0, 0000:3b:00.0, {src: host, dst: \"cuda:1\"}]\n"
      "stop: {precision: 0.07%, iterations: 7, max_time: 1.001s}\n"
      "expect: {min_GBps: 0.1}\npaths: [staged, direct]\nverify: off\ntimeout: 90min\n");
}

TEST_CASE("texts keep their bytes through toYaml") {
  for (const char* text : {"plain",
                           "tcp;ofi_rxm",
                           "yes",
                           "No",
                           "null",
                           "~",
                           "010",
                           "1e3",
                           "true",
                           "",
                           " ",
                           " a",
                           "a ",
                           "a: b",
                           "a:",
                           ":a",
                           "- a",
                           "#a",
                           "a #b",
                           "*a",
                           "&a",
                           "!a",
                           "%a",
                           "@a",
                           "`a",
                           "[a",
                           "{a",
                           "a]",
                           "a,b",
                           "'a'",
                           "\"a\"",
                           "\\",
                           "a\\nb",
                           "a\nb",
                           "a\n",
                           "\ttab",
                           "a\r\nb",
                           "<<",
                           "---",
                           "...",
                           "? a",
                           "|",
                           ">",
                           "=",
                           "0x1F",
                           "1:30",
                           ".inf",
                           "\xc3\xa4\xe2\x82\xac",
                           "\xf0\x9f\x98\x80",
                           "\xc2\x85",
                           "\xc2\x80",
                           "\xe2\x80\xa8",
                           "\xef\xbb\xbf",
                           "\xef\xbf\xbf",
                           "x-a",
                           "a/b.c_d-e:f"}) {
    INFO(text);
    RunConfig config = loaded(std::string(kSmallest));
    config.run.set("name", {OptionValue(std::string(text))});
    config.transports[0].options.set("provider", {OptionValue(std::string(text))});
    config.transports[0].env.emplace_back("A", text);
    const std::string written = toYaml(catalogue(), config);
    INFO(written);
    checkEqual(loaded(written), config);
  }
}

TEST_CASE("percentages keep their value through toYaml") {
  for (int i = 1; i <= 500; i += 7) {
    RunConfig config = loadedWith("stop: {precision: " + std::to_string(i / 10) + "." +
                                  std::to_string(i % 10) + "%}\n");
    checkEqual(loaded(toYaml(catalogue(), config)), config);
  }
}

TEST_CASE("toYaml names every option that has a value") {
  CHECK(toYaml(catalogue(), loadedWith("memory: {src: host, dst: pinned}\n")) ==
        "name: run\n"
        "rounds: 3\n"
        "paths: direct\n"
        "verify: all\n"
        "timeout: 1min\n"
        "raw: true\n"
        "stop:\n"
        "  precision: 1%\n"
        "  max_time: 5s\n"
        "expect: {}\n"
        "memory:\n"
        "  - {src: host, dst: pinned}\n"
        "transports:\n"
        "  - wire:\n"
        "      port: 0\n"
        "      buffer: 64KiB\n"
        "      provider: \"\"\n"
        "      op: write\n"
        "patterns:\n"
        "  - ping-pong:\n"
        "      sizes: [64B]\n");
}

TEST_CASE("long lists are broken into lines") {
  std::vector<std::string> items(100, "1234567");
  const std::string text = yamlList(items, 4);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    CHECK(end - start <= 100);
    start = end + 1;
  }
  CHECK(yamlList({}, 4) == "[]");
}
