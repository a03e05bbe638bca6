// SPDX-License-Identifier: Apache-2.0
// A catalogue with every type of option, and short ways to load a text over it.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace gdrbench::config::test {

inline constexpr std::array<std::string_view, 2> kPathWords{"direct", "staged"};
inline constexpr std::array<std::string_view, 3> kVerifyWords{"all", "sample", "off"};
inline constexpr std::array<std::string_view, 2> kOpWords{"read", "write"};
inline constexpr std::array<std::string_view, 2> kDirectionWords{"uni", "bi"};

inline constexpr Option kRunOptions[] = {
    {.name = "name", .type = OptionType::kText, .fallback = "run", .help = "name of the results"},
    {.name = "rounds",
     .type = OptionType::kInteger,
     .fallback = "3",
     .min = 1,
     .max = 1000,
     .help = "times that every case is repeated"},
    {.name = "paths",
     .type = OptionType::kChoice,
     .fallback = "direct",
     .choices = kPathWords,
     .list = true,
     .help = "ways of the bytes | as rows"},
    {.name = "verify",
     .type = OptionType::kChoice,
     .fallback = "all",
     .choices = kVerifyWords,
     .help = "what is checked"},
    {.name = "timeout",
     .type = OptionType::kDuration,
     .fallback = "60s",
     .min = 1e6,
     .help = "limit of a case"},
    {.name = "raw", .type = OptionType::kBool, .fallback = "true", .help = "keep raw samples"},
};
inline constexpr Option kStopOptions[] = {
    {.name = "iterations", .type = OptionType::kInteger, .min = 1, .help = "exact count"},
    {.name = "precision",
     .type = OptionType::kPercent,
     .fallback = "1%",
     .min = 0.0001,
     .max = 0.5,
     .help = "interval of the median"},
    {.name = "max_time",
     .type = OptionType::kDuration,
     .fallback = "5s",
     .min = 1e6,
     .help = "longest time"},
};
inline constexpr Option kExpectOptions[] = {
    {.name = "min_GBps", .type = OptionType::kNumber, .min = 0, .help = "smallest rate"},
    {.name = "path", .type = OptionType::kChoice, .choices = kPathWords, .help = "verdict"},
};
inline constexpr Option kWireOptions[] = {
    {.name = "port",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 65535,
     .help = "0 lets the kernel choose"},
    {.name = "buffer",
     .type = OptionType::kSize,
     .fallback = "64KiB",
     .min = 4096,
     .help = "bytes of the socket buffer"},
    {.name = "provider", .type = OptionType::kText, .help = "name of a provider"},
    {.name = "op",
     .type = OptionType::kChoice,
     .fallback = "write",
     .choices = kOpWords,
     .help = "operation"},
};
inline constexpr Option kCardOptions[] = {
    {.name = "device", .type = OptionType::kText, .required = true, .help = "name of the card"},
};
inline constexpr Option kStreamOptions[] = {
    {.name = "window",
     .type = OptionType::kInteger,
     .fallback = "64",
     .min = 1,
     .max = 65536,
     .list = true,
     .help = "messages outstanding"},
    {.name = "direction",
     .type = OptionType::kChoice,
     .fallback = "uni",
     .choices = kDirectionWords,
     .list = true,
     .help = "one way or both"},
};

inline const Catalogue& catalogue() {
  static const Catalogue kCatalogue{
      kRunOptions,
      {{"stop", "when a case has enough samples", kStopOptions},
       {"expect", "what must hold", kExpectOptions}},
      {},
      {{"wire", "bytes over a wire", kWireOptions},
       {"card", "bytes over a card", kCardOptions},
       {"nothing", "no bytes", {}}},
      {{"ping-pong", "one message at a time", {}}, {"stream", "many messages", kStreamOptions}}};
  return kCatalogue;
}

inline constexpr std::string_view kSmallest =
    "transports: [wire]\npatterns: [{ping-pong: {sizes: 64}}]\n";

using Sets = std::initializer_list<std::string>;

inline Result<RunConfig> tryLoad(const std::string& text, Sets sets = {}) {
  return loadText(catalogue(), text, "t.yaml", std::vector<std::string>(sets));
}

inline RunConfig loaded(const std::string& text, Sets sets = {}) {
  Result<RunConfig> config = tryLoad(text, sets);
  REQUIRE_MESSAGE(config.ok(), (config.ok() ? std::string() : config.error().what()));
  return std::move(*config);
}

/// `text` over the smallest configuration that is complete.
inline RunConfig loadedWith(const std::string& text, Sets sets = {}) {
  return loaded(std::string(kSmallest) + text, sets);
}

/// The error's whole line.
inline std::string errorOf(const std::string& text, Sets sets = {}) {
  const Result<RunConfig> config = tryLoad(text, sets);
  REQUIRE_MESSAGE(!config.ok(), text);
  CHECK(config.error().code == ErrorCode::kConfig);
  return config.error().what();
}

inline std::string errorWith(const std::string& text, Sets sets = {}) {
  return errorOf(std::string(kSmallest) + text, sets);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

#define CHECK_CONTAINS(text, part)                                           \
  do {                                                                       \
    const std::string whole_ = (text);                                       \
    CHECK_MESSAGE(::gdrbench::config::test::contains(whole_, part), whole_); \
  } while (false)

}  // namespace gdrbench::config::test
