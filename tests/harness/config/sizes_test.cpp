// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;

namespace {

using Sizes = std::vector<std::uint64_t>;

std::string withSizes(const std::string& sizes) {
  return "transports: [wire]\npatterns:\n  - ping-pong: {sizes: " + sizes + "}\n";
}

Sizes sizesOf(const std::string& sizes) {
  return loaded(withSizes(sizes)).patterns[0].sizes;
}
std::string sizesError(const std::string& sizes) {
  return errorOf(withSizes(sizes));
}

constexpr std::uint64_t kMi = 1u << 20;

}  // namespace

TEST_CASE("sizes are one, a list, or a range") {
  CHECK(sizesOf("64") == Sizes{64});
  CHECK(sizesOf("[64KiB, 1M, 1MB, 3]") == Sizes{65536, kMi, 1'000'000, 3});
  CHECK(sizesOf("{min: 1, max: 16}") == Sizes{1, 2, 4, 8, 16});
  CHECK(sizesOf("{max: 100, factor: 3, min: 2}") == Sizes{2, 6, 18, 54});
  CHECK(sizesOf("{min: 8, max: 32, step: 8}") == Sizes{8, 16, 24, 32});
  CHECK(sizesOf("{min: 8, max: 31, step: 8}") == Sizes{8, 16, 24});
  CHECK(sizesOf("{min: 5, max: 5}") == Sizes{5});
}

TEST_CASE("a size that cannot be taken whole is refused with its place") {
  for (const char* bad : {"1m", "'1 M'", "-1", "0x100", "010", "1_024", "100 gigs", "~"}) {
    INFO(bad);
    CHECK_CONTAINS(sizesError(bad), "t.yaml:3:");
    CHECK_CONTAINS(sizesError(bad), "ping-pong.sizes");
  }
  CHECK_CONTAINS(sizesError("100 gigs"), "t.yaml:3:24: key 'ping-pong.sizes': ");
  CHECK_CONTAINS(sizesError("100 gigs"), "100 gigs");
  CHECK_CONTAINS(sizesError("\"64\""), "remove the quotes");
  CHECK_CONTAINS(sizesError("[8, [9]]"), "takes one value, not a list");
  CHECK_CONTAINS(sizesError("[]"), "the list is empty");
  CHECK_CONTAINS(sizesError(""), "key 'ping-pong.sizes' has no value");
}

TEST_CASE("size 0 is refused") {
  CHECK(sizesError("0") ==
        "t.yaml:3:24: key 'ping-pong.sizes': '0' is no message size; accepted: at least 1 B");
  CHECK_CONTAINS(sizesError("[1, 0KiB]"), "at least 1 B");
  CHECK_CONTAINS(sizesError("{min: 0, max: 8}"), "key 'ping-pong.sizes.min': '0'");
  CHECK_CONTAINS(sizesError("{min: 1, max: 8, step: 0}"), "key 'ping-pong.sizes.step': '0'");
}

TEST_CASE("a range is never clipped") {
  CHECK_CONTAINS(sizesError("{min: 1MiB, max: 64KiB}"), "min (1 MiB) is above max (64 KiB)");
  CHECK_CONTAINS(sizesError("{min: 1}"), "'max' is missing");
  CHECK_CONTAINS(sizesError("{max: 1}"), "'min' is missing");
  CHECK_CONTAINS(sizesError("{min: 1, max: 8, factor: 2, step: 2}"), "exclude each other");
  CHECK_CONTAINS(sizesError("{min: 1, max: 8, factor: 1}"), "at least 2");
  CHECK_CONTAINS(sizesError("{min: 1, max: 8, factor: 1.5}"), "at least 2");
  CHECK_CONTAINS(sizesError("{min: 1, max: 8, fctor: 2}"),
                 "unknown key 'fctor' in 'ping-pong.sizes'; did you mean 'factor'?");
}

TEST_CASE("at most 10,000 sizes, and none that wraps around") {
  CHECK(sizesOf("{min: 1, max: 10000, step: 1}").size() == 10'000);
  CHECK_CONTAINS(sizesError("{min: 1, max: 10001, step: 1}"), "more than 10,000 sizes");
  CHECK_CONTAINS(sizesError("{min: 1, max: 1000TiB, step: 1}"), "more than 10,000 sizes");
  const Sizes large = sizesOf("{min: 1, max: 4000000TiB}");
  CHECK(large.size() == 62);
  CHECK(large.back() == std::uint64_t{1} << 61);
  std::string list = "[1";
  for (int i = 2; i <= 10'000; ++i) list += ", " + std::to_string(i);
  CHECK(sizesOf(list + "]").size() == 10'000);
  CHECK_CONTAINS(sizesError(list + ", 10001]"), "more than 10,000 sizes");
}

TEST_CASE("a pattern needs sizes") {
  CHECK_CONTAINS(errorOf("transports: [wire]\npatterns: [ping-pong]\n"),
                 "t.yaml:2:12: key 'sizes' is missing in 'ping-pong'");
  CHECK_CONTAINS(errorOf("transports: [wire]\npatterns: [{stream: {window: 1}}]\n"),
                 "key 'sizes' is missing in 'stream'");
}
