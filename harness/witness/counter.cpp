// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/counter.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "harness/core/text.h"
#include "harness/environment/files.h"

namespace gdrbench::witness {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kRange32 = std::uint64_t{1} << 32;

std::string shown(const Known<std::uint64_t>& count) {
  return count ? std::to_string(*count) : unknownText(count.why);
}

/// A counter of 32 bits comes back to where it was after this many bytes: if one or more such turns
/// fit between what was seen and what could have been, nobody can say.
bool turnsFit(std::uint64_t bytes, std::uint64_t unit, const Bounds& bounds) {
  const std::uint64_t turn = times(kRange32, unit);
  const std::uint64_t missing = bounds.payload - bytes;
  const std::uint64_t turns = missing / turn + (missing % turn == 0 ? 0 : 1);
  return plus(bytes, times(turns, turn)) <= bounds.most;
}

Judgement unclear(std::uint64_t bytes, std::string why) {
  return {Passed::kUnclear, bytes, std::move(why)};
}

/// What others would have moved while ours ran, if they went on as in the idle sample.
Known<std::uint64_t> noise(const Flow& flow) {
  if (flow.idleTime.count() <= 0) return std::uint64_t{0};
  if (!flow.idle) return Known<std::uint64_t>::unknown(flow.idle.why);
  auto moved = growth(*flow.idle, *flow.before);
  if (!moved) return moved;
  const double share =
      static_cast<double>(flow.runTime.count()) / static_cast<double>(flow.idleTime.count());
  const double bytes = static_cast<double>(*moved) * static_cast<double>(flow.unit) * share;
  constexpr double kTooMany = 9e18;  // beyond what a counter can hold
  return bytes < kTooMany ? static_cast<std::uint64_t>(bytes) : kMost;
}

}  // namespace

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > kMost - b ? kMost : a + b;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::optional<std::uint64_t> parseCount(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == text.npos) return std::nullopt;
  text = text.substr(0, last + 1);
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Known<std::uint64_t> readCount(const std::filesystem::path& path) {
  using Count = Known<std::uint64_t>;
  constexpr std::size_t kShown = 40;
  const auto line = firstLine(path);
  if (!line) return Count::unknown(path.string() + " cannot be read");
  if (const auto value = parseCount(*line)) return *value;
  return Count::unknown(
      fmt::format("{} holds '{}', no number", path.string(), asUtf8(line->substr(0, kShown))));
}

Known<std::uint64_t> growth(std::uint64_t before, std::uint64_t after) {
  if (after >= before) return after - before;
  if (before < kRange32) return after + kRange32 - before;
  const std::uint64_t wrapped = after - before;  // modulo 2^64
  if (wrapped <= kMost / 2) return wrapped;
  return Known<std::uint64_t>::unknown(
      fmt::format("it went back from {} to {}: it was set back", before, after));
}

std::string Flow::text() const {
  return fmt::format("{} {} -> {}", name, shown(before), shown(after));
}

Judgement judge(const Flow& flow, const Bounds& bounds) {
  if (!flow.before) return unclear(0, flow.before.why);
  if (!flow.after) return unclear(0, flow.after.why);
  const auto moved = growth(*flow.before, *flow.after);
  if (!moved) return unclear(0, fmt::format("{}: {}", flow.name, moved.why));
  const std::uint64_t bytes = times(*moved, flow.unit);
  if (*flow.after == kRange32 - 1) {
    return unclear(bytes, flow.name + " stands at the end of 32 bits");
  }
  const auto others = noise(flow);
  if (!others) return unclear(bytes, fmt::format("no idle reading: {}", others.why));
  if (*others > bounds.payload / 10) {
    return unclear(bytes,
                   fmt::format("{} moved while nothing ran here: others' traffic would make {} "
                               "bytes of the {} that count",
                               flow.name, *others, bounds.payload));
  }
  if (bytes > plus(bounds.most, *others)) {
    return unclear(bytes, fmt::format("{} counted {} bytes for {} of payload: others' traffic "
                                      "cannot be told from it",
                                      flow.name, bytes, bounds.payload));
  }
  if (bytes >= bounds.payload) return {Passed::kAll, bytes, {}};
  const bool narrow = *flow.before < kRange32 && *flow.after < kRange32;
  if (narrow && turnsFit(bytes, flow.unit, {bounds.payload, plus(bounds.most, *others)})) {
    return unclear(bytes, flow.name + " may have 32 bits and have wrapped unseen");
  }
  return {Passed::kLess, bytes, {}};
}

}  // namespace gdrbench::witness
