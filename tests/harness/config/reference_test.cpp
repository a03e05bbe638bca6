// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/json.hpp>

#include "harness/config/config.h"
#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;
namespace json = boost::json;

namespace {

std::size_t longestLine(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

std::vector<Option> everyOption() {
  std::vector<Option> all(catalogue().run.begin(), catalogue().run.end());
  for (const auto* groups : {&catalogue().groups, &catalogue().transports, &catalogue().patterns}) {
    for (const Group& group : *groups) {
      all.insert(all.end(), group.options.begin(), group.options.end());
    }
  }
  return all;
}

/// The first fenced block of `text` that is YAML.
std::string firstYamlBlock(const std::string& text) {
  const std::string fence = "```yaml\n";
  const std::size_t begin = text.find(fence);
  REQUIRE(begin != std::string::npos);
  const std::size_t start = begin + fence.size();
  return text.substr(start, text.find("```", start) - start);
}

}  // namespace

TEST_CASE("the help names every key with type, default and range in 100 columns") {
  const std::string help = helpText(catalogue());
  CHECK(longestLine(help) <= 100);
  for (const Option& option : everyOption()) {
    CHECK_CONTAINS(help, std::string(option.name));
    CHECK_CONTAINS(help, std::string(option.help.substr(0, option.help.find(' '))));
  }
  CHECK_CONTAINS(help, "times that every case is repeated [whole number: 1 .. 1000; default 3]");
  CHECK_CONTAINS(help, "stop.max_time");
  CHECK_CONTAINS(help, "name of the card [text; required]");
  for (const char* key :
       {"include", "transports", "patterns", "memory", "sizes", "label", "env", "library"}) {
    CHECK_CONTAINS(help, std::string("  ") + key);
  }
}

TEST_CASE("the reference has a heading and a table for each group") {
  const std::string text = markdownReference(catalogue());
  for (const char* heading :
       {"\n## Syntax\n", "\n## Top level\n", "\n### stop\n", "\n### expect\n", "\n## Transports\n",
        "\n### wire\n", "\n### nothing\n", "\n## Patterns\n", "\n### ping-pong\n", "\n### stream\n",
        "\n### include\n", "\n### --set\n"}) {
    CHECK_CONTAINS(text, heading);
  }
  CHECK_CONTAINS(text,
                 "| `rounds` | whole number | `3` | 1 .. 1000 | times that every case is "
                 "repeated |\n");
  // A bar inside a cell would split it.
  CHECK_CONTAINS(text, "| direct \\| staged | ways of the bytes \\| as rows |\n");
  CHECK_CONTAINS(text, "| `device` | text | required | text | name of the card |\n");
  for (const Option& option : everyOption()) {
    CHECK_CONTAINS(text, "| `" + std::string(option.name) + "` | ");
  }
}

TEST_CASE("the reference names nothing that the catalogue has not") {
  const std::string text = markdownReference(catalogue());
  for (const char* foreign : {"tcp", "verbs", "libfabric", "nccl", "loopback", "cuda", "null"}) {
    INFO(foreign);
    CHECK(!contains(text, foreign));
  }
  const std::string bare = markdownReference({{}, {}, {}, {}});
  for (const char* foreign : {"ping-pong", "wire", "stop", "rounds"}) {
    INFO(foreign);
    CHECK(!contains(bare, foreign));
  }
}

TEST_CASE("the example of the reference is a configuration") {
  const std::string block = firstYamlBlock(markdownReference(catalogue()));
  INFO(block);
  CHECK(loaded(block).transports.size() == 2);
}

TEST_CASE("the schema describes every key and allows no other") {
  const json::object schema = configSchema(catalogue()).as_object();
  CHECK(schema.at("$schema") == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema.at("type") == "object");
  CHECK(schema.at("additionalProperties") == false);
  const json::object& keys = schema.at("properties").as_object();
  for (const char* key : {"include", "transports", "patterns", "memory", "stop", "expect", "name",
                          "rounds", "paths", "verify", "timeout", "raw"}) {
    CHECK_MESSAGE(keys.contains(key), key);
  }
  CHECK(keys.size() == 12);
  const json::object& rounds = keys.at("rounds").as_object();
  CHECK(rounds == json::object{{"type", "integer"},
                               {"minimum", 1},
                               {"maximum", 1000},
                               {"description", "times that every case is repeated"},
                               {"default", 3}});
  CHECK(keys.at("verify").at("enum") == json::array{"all", "sample", "off"});
  CHECK(keys.at("timeout").at("default") == "1min");
  CHECK(keys.at("raw").at("default") == true);
  CHECK(keys.at("paths").at("anyOf").as_array().size() == 2);
  CHECK(keys.at("stop").at("additionalProperties") == false);
}

TEST_CASE("the schema requires transports and patterns unless files are included") {
  const json::value schema = configSchema(catalogue());
  const json::array expected{json::object{{"required", json::array{json::string("include")}}},
                             json::object{{"required", json::array{"transports", "patterns"}}}};
  CHECK(schema.at("anyOf") == expected);
}

TEST_CASE("the schema of a list of transports takes names and maps of one key") {
  const json::value schema = configSchema(catalogue());
  const json::array& entries =
      schema.at("properties").at("transports").at("items").at("anyOf").as_array();
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].at("enum") == json::array{"wire", "card", "nothing"});
  CHECK(entries[2].at("required") == json::array{json::string("card")});
  const json::value& card = entries[2].at("properties").at("card");
  CHECK(card.at("required") == json::array{json::string("device")});
  for (const char* key : {"label", "env", "library", "device"}) {
    CHECK(card.at("properties").as_object().contains(key));
  }
  const json::array& patterns =
      schema.at("properties").at("patterns").at("items").at("anyOf").as_array();
  CHECK(patterns[0].at("properties").at("ping-pong").at("required") ==
        json::array{json::string("sizes")});
}
