// SPDX-License-Identifier: Apache-2.0
#include "harness/patterns/pattern.h"

#include <algorithm>
#include <array>

#include "harness/patterns/ping_pong.h"
#include "harness/patterns/stream.h"

namespace gdrbench {
namespace {

constexpr std::string_view kDirections[] = {"uni", "bi"};

constexpr Option kStreamOptions[] = {
    {.name = "window",
     .type = OptionType::kInteger,
     .fallback = "64",
     .min = 1,
     .max = 65536,
     .list = true,
     .help = "messages outstanding at the sender; never more than there are messages"},
    {.name = "batch",
     .type = OptionType::kInteger,
     .fallback = "1",
     .min = 1,
     .max = 4096,
     .list = true,
     .help = "messages handed to the transport in one call; at most the window"},
    {.name = "direction",
     .type = OptionType::kChoice,
     .fallback = "uni",
     .choices = kDirections,
     .list = true,
     .help = "uni: initiator to responder; bi: both ways at once, rates are the sum of both"},
};

constexpr std::array kPatterns = {
    PatternEntry{"ping-pong",
                 "one message there and one back; a latency for each",
                 {},
                 [] { return std::unique_ptr<Pattern>(new PingPong); }},
    PatternEntry{"stream", "a window of messages outstanding; a rate, ended by a return message",
                 kStreamOptions, [] { return std::unique_ptr<Pattern>(new Stream); }},
};

}  // namespace

std::span<const PatternEntry> patternEntries() {
  return kPatterns;
}

const PatternEntry* findPattern(std::string_view name) {
  const auto* found = std::find_if(kPatterns.begin(), kPatterns.end(),
                                   [&](const PatternEntry& entry) { return entry.name == name; });
  return found == kPatterns.end() ? nullptr : &*found;
}

}  // namespace gdrbench
