// SPDX-License-Identifier: Apache-2.0
#include "harness/core/json.h"

#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

using namespace gdrbench;
namespace json = boost::json;

namespace {

json::value parsed(std::string_view text) {
  auto value = parseJson(text, "test.json");
  REQUIRE_MESSAGE(value.ok(), text, ": ", value.ok() ? "" : value.error().what());
  return *std::move(value);
}

std::string refusal(std::string_view text) {
  const auto value = parseJson(text, "test.json");
  REQUIRE_FALSE_MESSAGE(value.ok(), text);
  CHECK(value.error().code == ErrorCode::kProtocol);
  return value.error().what();
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("values are written without spaces, in the order they were put") {
  const json::value value = {
      {"name", "a"}, {"list", {1, true, nullptr, "x"}}, {"empty", json::object()}};
  CHECK(writeJson(value) == R"({"name":"a","list":[1,true,null,"x"],"empty":{}})");
  CHECK(writeJson(json::array()) == "[]");
}

TEST_CASE("indented text keeps rows of numbers on one line") {
  const json::value value = {{"rates", {1, 2.5, nullptr}},
                             {"rows", json::array{json::value{{"n", 1}}}},
                             {"none", json::array()},
                             {"empty", json::object()}};
  CHECK(writeJsonPretty(value) ==
        "{\n  \"rates\": [1, 2.5, null],\n  \"rows\": [\n    {\n      \"n\": 1\n    }\n  ],\n"
        "  \"none\": [],\n  \"empty\": {}\n}");
}

TEST_CASE("numbers are written in their shortest form, never NaN or Infinity") {
  CHECK(writeJson(1.5) == "1.5");
  CHECK(writeJson(100.0) == "100");
  CHECK(writeJson(0.1) == "0.1");
  CHECK(writeJson(1e300) == "1e+300");
  CHECK(writeJson(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(writeJson(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(writeJson(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(writeJson(std::numeric_limits<double>::infinity()) == "null");
  CHECK(writeJson(-std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("strings are escaped, and what is not text becomes text that reads back") {
  const std::string raw("q\" b\\ n\n r\r t\t \x01\x1f end\0.", 24);
  CHECK(parsed(writeJson(json::string(raw))).as_string() == raw);
  CHECK(writeJson(json::string("\x01\"\\\n")) == R"("\u0001\"\\\n")");
  CHECK(writeJson(json::string("\xC3\xA4")) == "\"\xC3\xA4\"");
  CHECK(writeJson(json::string("a\xFFz")) == "\"a\xEF\xBF\xBDz\"");
  json::object keyed;
  keyed["k\xFF"] = "\xED\xA0\x80";
  CHECK(parsed(writeJson(keyed)).as_object().contains("k\xEF\xBF\xBD"));
}

TEST_CASE("every double and integer reads back exactly") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (value != value || value - value != 0) continue;
    const json::value again = parsed(writeJson(value));
    if (again.to_number<double>() != value) FAIL("not read back: ", writeJson(value));
  }
  CHECK(parsed("18446744073709551615").as_uint64() == std::numeric_limits<std::uint64_t>::max());
  CHECK(parsed("-9223372036854775808").as_int64() == std::numeric_limits<std::int64_t>::min());
  CHECK(parsed("9007199254740993").as_int64() == 9007199254740993);
  CHECK(parsed("1e-400").to_number<double>() == 0);
}

TEST_CASE("what is broken is refused with its line and column") {
  CHECK(refusal("").starts_with("could not read test.json as JSON: line 1, column 1: "));
  CHECK(contains(refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"), "line 3, column 7: "));
  CHECK(contains(refusal("[1, 2"), "line 1, column 6: "));
  CHECK(contains(refusal("{\"a\": 1}\n x"), "line 2, column 2: "));
  for (const char* bad :
       {"[1,]", "{\"a\":1,}", "'a'", "NaN", "[Infinity]", "// x\n1", "{a:1}", "[01]", "[1.]",
        "[+1]", "\"\x01\"", "\"\xFF\"", "tru", "[1 2]", "\xEF\xBB\xBF{}", "\"\\ud800\""}) {
    CAPTURE(bad);
    CHECK(contains(refusal(bad), "line 1, column "));
  }
}

TEST_CASE("text after the end is refused, space is not") {
  CHECK(parsed(" [1] \r\n\t").as_array().size() == 1);
  CHECK(contains(refusal("{} {}"), "line 1, column 4: "));
  CHECK(contains(refusal("1 2"), "line 1, column "));
  CHECK(contains(refusal(std::string("[]\0", 3)), "line 1, column 3: "));
}

TEST_CASE("a key that stands twice in one object is refused with its place") {
  CHECK(contains(refusal("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}"), "the key 'c' stands twice"));
  CHECK(contains(refusal("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}"), "line 2, "));
  CHECK(contains(refusal(R"({"a":1,"\u0061":2})"), "the key 'a' stands twice"));
  CHECK(contains(refusal(R"([{"x":{"a":1},"a":2,"x":3}])"), "the key 'x' stands twice"));
  CHECK(parsed(R"([{"a":1},{"a":2,"b":{"a":3}}])").as_array().size() == 2);
}

TEST_CASE("numbers beyond a double are refused with their place") {
  CHECK(contains(refusal("[1,\n  1e400]"), "line 2, column "));
  CHECK(contains(refusal("1e400"), "beyond what a double can hold"));
  CHECK(contains(refusal("{\"a\": -1e999}"), "beyond what a double can hold"));
  CHECK(parsed("1.7976931348623157e308").as_double() == std::numeric_limits<double>::max());
}

TEST_CASE("depth is bounded") {
  CHECK(parsed(nested(64)).is_array());
  CHECK(contains(refusal(nested(65)), "line 1, column "));
  CHECK(contains(refusal(std::string(1'000'000, '[')), "line 1, column "));
}

TEST_CASE("long strings and keys come through whole") {
  const std::string big(3'000'000, 'x');
  json::object object;
  object[big] = big;
  const json::value again = parsed(writeJson(object));
  CHECK(again.as_object().at(big).as_string().size() == big.size());
}
