// SPDX-License-Identifier: Apache-2.0
#include "harness/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "harness/core/units.h"

namespace gdrbench::report {
namespace {

constexpr const char* kDash = "-";

struct MarkText {
  std::string_view mark, text;
};
constexpr std::array kMarks = {
    MarkText{"not_steady", "the warm-up reached its cap before the median settled within 1 %"},
    MarkText{"no_warmup", "measured without a warm-up, the cold first message included"},
    MarkText{"drift", "the level changed between the first and the last third of a run"},
    MarkText{"two_modes", "samples have two separate peaks: look at both, not at one median"},
    MarkText{"imprecise", "stopped by time or noise before the interval was narrow enough"},
    MarkText{"below_resolution", "less than ten steps of the clock"},
    MarkText{"host_limited",
             "the tail is not the transport's: the null transport's p99.9 is at "
             "least half of it"},
    MarkText{"sampled_check", "only some messages were checked"},
    MarkText{"unchecked", "no message was checked"},
};

std::string micro(std::optional<double> ns) {
  return ns ? fmt::format("{:.3f}", *ns / 1000) : kDash;
}

/// Three significant decimals for ratios near one, fewer for large ones.
std::string times(double ratio) {
  return ratio >= 100  ? fmt::format("{:.0f}", ratio)
         : ratio >= 10 ? fmt::format("{:.1f}", ratio)
                       : fmt::format("{:.2f}", ratio);
}

std::string ratioText(const Row& row, const std::string& base) {
  if (row.label == base && row.outcome.kind == OutcomeKind::kOk) return "base";
  const auto& ratio = row.headline.ratio;
  if (!ratio) return kDash;
  std::string text = times(ratio->level.value) + "x";
  if (ratio->level.interval) {
    text += fmt::format(" [{}, {}]", times(ratio->level.interval->low),
                        times(ratio->level.interval->high));
  }
  return text;
}

std::string percent(std::optional<double> share) {
  if (!share) return kDash;
  return *share >= 0.0995 ? fmt::format("{:.0f} %", *share * 100)
                          : fmt::format("{:.2f} %", *share * 100);
}

Cell outcomeCell(const Row& row) {
  switch (row.outcome.kind) {
    case OutcomeKind::kSkipped:
      return {"skipped: " + row.outcome.reason, Tone::kFaint};
    case OutcomeKind::kFailed:
      return {"FAILED", Tone::kBad};
    case OutcomeKind::kOk:
      break;
  }
  std::string text = "ok";
  for (const std::string& mark : row.marks) text += (text == "ok" ? " (" : ", ") + mark;
  return {text == "ok" ? text : text + ")", Tone::kGood};
}

std::string checkedText(const Row& row) {
  if (row.check.mode == "none") return "no data";
  if (row.check.mode == "off") return "off";
  return row.check.messages == 0 ? kDash : fmt::format("{}", row.check.messages);
}

std::string runsText(const Row& row) {
  const auto good = std::count_if(row.runs.begin(), row.runs.end(), [](const Run& run) {
    return run.outcome.kind == OutcomeKind::kOk;
  });
  return fmt::format("{}/{}", good, row.runs.size());
}

bool isStream(const Row& row) {
  return row.sample == "block";
}

/// Half of a sample that is a round trip; the whole of one that is an operation.
std::optional<double> latencyOf(const Row& row, std::optional<double> sample) {
  if (!sample) return {};
  return row.sample == "round trip" ? *sample / 2 : *sample;
}

std::optional<double> valueOf(const std::optional<Level>& level) {
  return level ? std::optional(level->value) : std::nullopt;
}

std::vector<Column> latencyColumns() {
  return {{"size", true, 0},          {"transport", false, 0}, {"operation", false, 8},
          {"path", false, 6},         {"drive", false, 11},    {"p50 us", true, 0},
          {"p99 us", true, 1},        {"p99.9 us", true, 2},   {"max us", true, 7},
          {"round trip us", true, 9}, {"vs base", true, 0},    {"harness", true, 5},
          {"runs", true, 10},         {"checked", true, 4},    {"outcome", false, 0}};
}

std::vector<Cell> latencyCells(const Row& row, const std::string& base) {
  const Headline& head = row.headline;
  const bool whole = row.sample != "round trip";
  return {{formatSize(row.bytes)},
          {row.label},
          {whole ? row.operation + " (full)" : row.operation},
          {row.path},
          {row.drive},
          {micro(latencyOf(row, valueOf(head.p50Ns)))},
          {micro(latencyOf(row, head.p99Ns))},
          {micro(latencyOf(row, head.p999Ns))},
          {micro(latencyOf(row, head.maxNs))},
          {whole ? kDash : micro(valueOf(head.p50Ns))},
          {ratioText(row, base)},
          {percent(head.harnessShare)},
          {runsText(row)},
          {checkedText(row)},
          outcomeCell(row)};
}

std::vector<Column> rateColumns() {
  return {{"size", true, 0},    {"transport", false, 0}, {"operation", false, 8},
          {"path", false, 6},   {"drive", false, 11},    {"window", true, 3},
          {"batch", true, 4},   {"GB/s", true, 0},       {"95 % interval", true, 7},
          {"Gb/s", true, 1},    {"messages/s", true, 0}, {"vs base", true, 0},
          {"harness", true, 5}, {"runs", true, 10},      {"checked", true, 2},
          {"outcome", false, 0}};
}

std::string giga(double perSecond, double factor) {
  return fmt::format("{:.4f}", perSecond * factor / 1e9);
}

std::vector<Cell> rateCells(const Row& row, const std::string& base) {
  const auto& level = row.headline.bytesPerSecond;
  std::string interval = kDash;
  if (level && level->interval) {
    interval =
        fmt::format("{:.3f} .. {:.3f}", level->interval->low / 1e9, level->interval->high / 1e9);
  }
  return {
      {formatSize(row.bytes)},
      {row.label},
      {row.operation},
      {row.path},
      {row.drive},
      {std::to_string(row.window)},
      {std::to_string(row.batch)},
      {level ? giga(level->value, 1) : kDash},
      {interval},
      {level ? giga(level->value, 8) : kDash},
      {row.headline.messagesPerSecond ? formatMessageRate(*row.headline.messagesPerSecond) : kDash},
      {ratioText(row, base)},
      {percent(row.headline.harnessShare)},
      {runsText(row)},
      {checkedText(row)},
      outcomeCell(row)};
}

std::string titleOf(const Row& row) {
  std::string title;
  if (isStream(row)) {
    title = row.direction == "bi"
                ? "stream, both ways at once: rates are the sum of both directions"
                : "stream, one way: the clock stops when the receiver has everything";
  } else {
    title = "ping-pong: latency is half the round trip";
  }
  return row.memory == "host" ? title + " (host memory)"
                              : fmt::format("{} ({})", title, row.memory);
}

}  // namespace

std::vector<Table> tablesOf(const Document& document) {
  std::vector<Table> tables;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::uint64_t> lastSize;
  for (const Row& row : document.rows) {
    const auto [place, fresh] = places.emplace(titleOf(row), tables.size());
    if (fresh) {
      tables.push_back({titleOf(row), isStream(row) ? rateColumns() : latencyColumns(), {}});
      lastSize.push_back(row.bytes);
    }
    Table& table = tables[place->second];
    if (lastSize[place->second] != row.bytes) table.rows.emplace_back();
    lastSize[place->second] = row.bytes;
    table.rows.push_back(isStream(row) ? rateCells(row, document.base)
                                       : latencyCells(row, document.base));
  }
  return tables;
}

std::vector<std::string> legendOf(const Document& document) {
  std::vector<std::string> legend = {
      "vs base: this row over the base's, of p50 latency (less is better) or of rate (more is "
      "better); [95 % interval over runs]",
      "harness: what the null transport takes in the same pattern, over what this row takes; it is "
      "contained in the row",
      "checked: messages compared byte by byte with what was sent; GB/s is 10^9 bytes a second, "
      "Gb/s 10^9 bits",
      "-: not measured, or too few samples to say (p99 needs 368, p99.9 needs 3688)"};
  const auto& rows = document.rows;
  for (const MarkText& known : kMarks) {
    const bool occurs = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return std::find(row.marks.begin(), row.marks.end(), known.mark) != row.marks.end();
    });
    if (occurs) legend.push_back(fmt::format("{}: {}", known.mark, known.text));
  }
  if (std::any_of(rows.begin(), rows.end(),
                  [](const Row& row) { return row.sample == "full operation"; })) {
    legend.emplace_back("(full): the time of the whole operation, not of one way");
  }
  return legend;
}

}  // namespace gdrbench::report
