// SPDX-License-Identifier: Apache-2.0
#include "harness/core/option.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gdrbench;

namespace {

constexpr std::string_view kModes[] = {"all", "sample", "off"};
constexpr Option kTable[] = {
    {.name = "flag", .type = OptionType::kBool, .fallback = "true"},
    {.name = "port", .type = OptionType::kInteger, .fallback = "0", .min = 0, .max = 65535},
    {.name = "ratio", .type = OptionType::kNumber, .fallback = "0.5", .min = 0, .max = 1},
    {.name = "chunk", .type = OptionType::kSize, .fallback = "64KiB", .min = 64, .max = 16777216},
    {.name = "wait", .type = OptionType::kDuration, .fallback = "500ms", .min = 1e6, .max = 60e9},
    {.name = "precision",
     .type = OptionType::kPercent,
     .fallback = "1%",
     .min = 0.0005,
     .max = 0.07},
    {.name = "note", .type = OptionType::kText},
    {.name = "mode", .type = OptionType::kChoice, .fallback = "all", .choices = kModes},
    {.name = "device", .type = OptionType::kText, .required = true},
    {.name = "limit", .type = OptionType::kSize},
};

const Option& option(std::string_view name) {
  for (const Option& known : kTable) {
    if (known.name == name) return known;
  }
  FAIL("no option ", std::string(name));
  return kTable[0];
}

template <class T>
T parsed(std::string_view name, std::string_view text) {
  const auto value = parseOption(option(name), text);
  REQUIRE_MESSAGE(value.ok(), text);
  REQUIRE(std::holds_alternative<T>(*value));
  return std::get<T>(*value);
}

std::string refusal(std::string_view name, std::string_view text) {
  const auto value = parseOption(option(name), text);
  REQUIRE_FALSE(value.ok());
  CHECK(value.error().code == ErrorCode::kUsage);
  return value.error().what();
}

}  // namespace

TEST_CASE("each type reads its own text") {
  CHECK(parsed<bool>("flag", "true"));
  CHECK_FALSE(parsed<bool>("flag", "false"));
  CHECK(parsed<std::int64_t>("port", "7471") == 7471);
  CHECK(parsed<double>("ratio", "0.25") == 0.25);
  CHECK(parsed<std::int64_t>("chunk", "1MiB") == 1 << 20);
  CHECK(parsed<std::int64_t>("wait", "2s") == 2'000'000'000);
  CHECK(parsed<double>("precision", "2%") == 0.02);
  CHECK(parsed<std::string>("note", " any text: 010 ") == " any text: 010 ");
  CHECK(parsed<std::string>("note", "") == "");
  CHECK(parsed<std::string>("mode", "sample") == "sample");
}

TEST_CASE("a truth value is true or false and nothing else") {
  for (const char* bad : {"", "yes", "no", "on", "off", "True", "TRUE", "1", "0", "y", "~"}) {
    CAPTURE(bad);
    CHECK(refusal("flag", bad) == "'" + std::string(bad) + "' is neither true nor false");
  }
}

TEST_CASE("a value out of range is refused with what is accepted, in its own unit") {
  CHECK(refusal("port", "65536") == "'65536' is out of range: 0 .. 65535");
  CHECK(refusal("port", "-1") == "'-1' is out of range: 0 .. 65535");
  CHECK(refusal("ratio", "1.5") == "'1.5' is out of range: 0 .. 1");
  CHECK(refusal("chunk", "63") == "'63' is out of range: 64B .. 16MiB");
  CHECK(refusal("chunk", "1G") == "'1G' is out of range: 64B .. 16MiB");
  CHECK(refusal("wait", "2min") == "'2min' is out of range: 1ms .. 1min");
  CHECK(refusal("precision", "8%") == "'8%' is out of range: 0.05% .. 7%");
  CHECK(parsed<std::int64_t>("chunk", "64") == 64);
  CHECK(parsed<std::int64_t>("chunk", "16MiB") == 1 << 24);
  CHECK(parsed<double>("precision", "7%") == 0.07);
}

TEST_CASE("limits of whole numbers hold exactly, where a double cannot tell neighbours apart") {
  const auto accepts = [](const Option& type, std::string_view text) {
    return parseOption(type, text).ok();
  };
  const Option count{.name = "n",
                     .type = OptionType::kInteger,
                     .min = -9007199254740992.0,
                     .max = 9007199254740992.0};
  CHECK(accepts(count, "9007199254740992"));
  CHECK_FALSE(accepts(count, "9007199254740993"));
  CHECK(accepts(count, "-9007199254740992"));
  CHECK_FALSE(accepts(count, "-9007199254740993"));
  const Option free{.name = "n", .type = OptionType::kInteger};
  CHECK(accepts(free, "9223372036854775807"));
  CHECK(accepts(free, "-9223372036854775808"));
  const Option whole{.name = "n", .type = OptionType::kInteger, .min = 0.5, .max = 1e300};
  CHECK_FALSE(accepts(whole, "0"));
  CHECK(accepts(whole, "1"));
  CHECK(accepts(whole, "9223372036854775807"));
  const Option none{.name = "n", .type = OptionType::kInteger, .min = 1e300, .max = -1e300};
  CHECK_FALSE(accepts(none, "9223372036854775807"));
  CHECK_FALSE(accepts(none, "-9223372036854775808"));
}

TEST_CASE("a text of the wrong type is refused") {
  CHECK(refusal("port", "010").starts_with("'010' is not a whole number"));
  CHECK(refusal("port", "7k").starts_with("'7k' is not a whole number"));
  CHECK(refusal("chunk", "64k").starts_with("'64k' is not a size"));
  CHECK(refusal("wait", "5").starts_with("'5' is not a duration"));
  CHECK(refusal("precision", "0.01").starts_with("'0.01' is not a percentage"));
  CHECK(refusal("ratio", "nan").starts_with("'nan' is not a number"));
}

TEST_CASE("a choice that is none is refused with the nearest one") {
  CHECK(refusal("mode", "smaple") ==
        "'smaple' is none of all | sample | off; did you mean 'sample'?");
  CHECK(refusal("mode", "All") == "'All' is none of all | sample | off; did you mean 'all'?");
  CHECK(refusal("mode", "everything") == "'everything' is none of all | sample | off");
}

TEST_CASE("what is accepted, for help") {
  CHECK(acceptedValues(option("flag")) == "true | false");
  CHECK(acceptedValues(option("mode")) == "all | sample | off");
  CHECK(acceptedValues(option("port")) == "0 .. 65535");
  CHECK(acceptedValues(option("chunk")) == "64B .. 16MiB");
  CHECK(acceptedValues(option("wait")) == "1ms .. 1min");
  CHECK(acceptedValues(option("precision")) == "0.05% .. 7%");
  CHECK(acceptedValues({.name = "n", .type = OptionType::kInteger, .min = 1}) == "at least 1");
  CHECK(acceptedValues({.name = "n", .type = OptionType::kSize, .max = 1024}) == "at most 1KiB");
  CHECK(acceptedValues({.name = "n", .type = OptionType::kInteger, .max = 9007199254740992.0}) ==
        "at most 9007199254740992");
}

TEST_CASE("a literal reads back as the same value") {
  const std::pair<const char*, const char*> texts[] = {
      {"flag", "true"},      {"flag", "false"},   {"port", "7471"},   {"ratio", "0.1"},
      {"chunk", "1001"},     {"chunk", "1.5MiB"}, {"wait", "1500ms"}, {"wait", "90us"},
      {"precision", "0.7%"}, {"precision", "7%"}, {"note", "a b"},    {"mode", "off"},
  };
  for (const auto& given : texts) {
    const auto& [name, text] = given;
    CAPTURE(given.second);
    const Option& type = name == std::string_view("wait") ? kTable[4] : option(name);
    Option free = type;
    free.min = 0;
    const auto value = parseOption(free, text);
    REQUIRE(value.ok());
    const std::string written = literal(free, *value);
    const auto again = parseOption(free, written);
    REQUIRE_MESSAGE(again.ok(), written);
    CHECK(*again == *value);
  }
  CHECK(literal(option("chunk"), std::int64_t{65536}) == "64KiB");
  CHECK(literal(option("wait"), std::int64_t{500'000'000}) == "500ms");
  CHECK(literal(option("precision"), 0.07) == "7%");
}

TEST_CASE("defaults are set and not given, and what has none stays unset") {
  const OptionSet set = OptionSet::defaults(kTable);
  CHECK(set.flag("flag"));
  CHECK(set.integer("port") == 0);
  CHECK(set.number("ratio") == 0.5);
  CHECK(set.integer("chunk") == 65536);
  CHECK(set.integer("wait") == 500'000'000);
  CHECK(set.number("precision") == 0.01);
  CHECK(set.text("note") == "");
  CHECK(set.text("mode") == "all");
  CHECK_FALSE(set.has("device"));
  CHECK_FALSE(set.has("limit"));
  CHECK_FALSE(set.has("no such option"));
  for (const auto& entry : set.entries()) {
    CAPTURE(entry.first);
    CHECK_FALSE(entry.second.given);
  }
}

TEST_CASE("what the user sets is told apart from a default of the same value") {
  OptionSet set = OptionSet::defaults(kTable);
  set.set("chunk", {std::int64_t{65536}});
  CHECK(set.given("chunk"));
  CHECK_FALSE(set.given("port"));
  CHECK_FALSE(set.given("device"));
  CHECK(set.integer("chunk") == 65536);
  CHECK(set.entries() != OptionSet::defaults(kTable).entries());

  set.set("port", {std::int64_t{1}, std::int64_t{2}}, false);
  CHECK(set.list("port") == std::vector<OptionValue>{std::int64_t{1}, std::int64_t{2}});
  CHECK_FALSE(set.given("port"));
}
