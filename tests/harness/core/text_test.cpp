// SPDX-License-Identifier: Apache-2.0
#include "harness/core/text.h"

#include <doctest/doctest.h>

using namespace gdrbench;

namespace {
constexpr std::string_view kKeys[] = {"rounds", "patterns", "paths", "memory", "max_time"};
constexpr std::string_view kLetters[] = {"a", "b"};
}  // namespace

TEST_CASE("the nearest name is the one that was meant, or none") {
  CHECK(nearestName("round", kKeys) == "rounds");
  CHECK(nearestName("ronuds", kKeys) == "rounds");
  CHECK(nearestName("ROUNDS", kKeys) == "rounds");
  CHECK(nearestName("maxtime", kKeys) == "max_time");
  CHECK(nearestName("path", kKeys) == "paths");
  CHECK(nearestName("pattern", kKeys) == "patterns");
  CHECK(nearestName("rounds", kKeys) == "rounds");
  CHECK(nearestName("zebra", kKeys).empty());
  CHECK(nearestName("", kKeys).empty());
  CHECK(nearestName("rounds", {}).empty());
  CHECK(nearestName(std::string(100'000, 'r'), kKeys).empty());
}

TEST_CASE("a single letter resembles only itself") {
  CHECK(nearestName("c", kLetters).empty());
  CHECK(nearestName("A", kLetters) == "a");
  CHECK(nearestName("", kLetters).empty());
}

TEST_CASE("a suggestion names the nearest, or all there is") {
  CHECK(suggestion("round", kKeys) == "; did you mean 'rounds'?");
  CHECK(suggestion("zebra", kKeys) == "; one of: rounds, patterns, paths, memory, max_time");
  CHECK(suggestion("zebra", {}) == "");
}

TEST_CASE("words are listed as in a sentence") {
  CHECK(listed({}) == "");
  CHECK(listed(std::vector<std::string>{"a"}) == "a");
  CHECK(listed(std::vector<std::string>{"a", "b"}) == "a and b");
  CHECK(listed(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("file names hold nothing that a shell or a path would take amiss") {
  CHECK(fileNameOf("H200 pair/ofi_rxm;x") == "h200-pair-ofi_rxm-x");
  CHECK(fileNameOf("a.b_c-d9") == "a.b_c-d9");
  CHECK(fileNameOf("../x") == "..-x");
  CHECK(fileNameOf("") == "");
}

TEST_CASE("well-formed text stays as it is, and bytes that are none are replaced") {
  for (const char* fine : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    CHECK(asUtf8(fine) == fine);
  }
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(asUtf8("a\xFFz") == "a" + bad + "z");
  CHECK(asUtf8("\xC3") == bad);
  CHECK(asUtf8("\xE2\x82") == bad + bad);
  CHECK(asUtf8("\x80") == bad);
  CHECK(asUtf8("\xC3z") == bad + "z");
  CHECK(asUtf8("\xC0\x80") == bad + bad);                      // overlong
  CHECK(asUtf8("\xE0\x80\x80") == bad + bad + bad);            // overlong
  CHECK(asUtf8("\xED\xA0\x80") == bad + bad + bad);            // a surrogate
  CHECK(asUtf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
  CHECK(asUtf8(std::string_view("a\0b", 3)) == std::string("a\0b", 3));
}
