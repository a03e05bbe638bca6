// SPDX-License-Identifier: Apache-2.0
#include "harness/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "harness/core/units.h"
#include "harness/report/display.h"
#include "harness/report/matrix_tables.h"
#include "harness/report/path_evidence.h"
#include "harness/report/rows.h"

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
    MarkText{"partly_checked", "some messages that should have been checked were not"},
    MarkText{"below_class",
             "below 0.9 of the median of the other cells of the same memory kinds and link; ! in a "
             "matrix"},
    MarkText{"rounds_missing", "fewer rounds than planned: the run was interrupted"},
    MarkText{"unchecked", "no message was checked"},
    MarkText{"path_differs", "the evidence contradicts the path that the row was asked to take"},
    MarkText{"witness_perturbs",
             "the run that carried all witnesses was more than 10 % away from the timed ones"},
    MarkText{
        "little_company",
        "of the time of this row, a pair beside it moved messages in less than 80 %: it failed, "
        "began later, ended earlier, or filled and checked its memory"},
    MarkText{"witness_failed", "the run that was to carry all witnesses failed: see --explain"},
};

/// What a cell needs beside its row.
struct Context {
  const std::string& base;
  std::size_t rounds = 0;  ///< the most that a row has
};

std::string micro(std::optional<double> ns) {
  return ns ? fmt::format("{:.3f}", *ns / 1000) : kDash;
}

/// Four decimals, and three significant digits of what is smaller.
std::string giga(double perSecond, double factor) {
  const double value = perSecond * factor / 1e9;
  int digits = 4;
  for (double least = 0.01; value < least && digits < 9; least /= 10) ++digits;
  return fmt::format("{:.{}f}", value, digits);
}

/// Three significant decimals for ratios near one, fewer for large ones.
std::string times(double ratio) {
  return ratio >= 100  ? fmt::format("{:.0f}", ratio)
         : ratio >= 10 ? fmt::format("{:.1f}", ratio)
                       : fmt::format("{:.2f}", ratio);
}

std::string ratioText(const Level& level) {
  std::string text = times(level.value) + "x";
  if (level.interval) {
    text += fmt::format(" [{}, {}]", times(level.interval->low), times(level.interval->high));
  }
  return text;
}

std::string toBaseText(const Row& row, const std::string& base) {
  if (row.label == base && isOk(row)) return "base";
  const auto ratio = shownHeadline(row).ratio;
  return ratio ? ratioText(ratio->level) : kDash;
}

std::string toAloneText(const Row& row) {
  const auto ratio = shownHeadline(row).toAlone;
  return ratio ? ratioText(*ratio) : kDash;
}

std::string percent(std::optional<double> share) {
  if (!share) return kDash;
  return *share >= 0.0995 ? fmt::format("{:.0f} %", *share * 100)
                          : fmt::format("{:.2f} %", *share * 100);
}

/// The whole reason stands below the tables.
Cell outcomeCell(const Row& row) {
  constexpr std::size_t kRoom = 48;
  switch (row.outcome.kind) {
    case OutcomeKind::kSkipped:
      return {shortened("skipped: " + oneLine(row.outcome.reason), kRoom), Tone::kFaint};
    case OutcomeKind::kFailed:
      return {shortened("FAILED: " + oneLine(row.outcome.reason), kRoom), Tone::kBad};
    case OutcomeKind::kOk:
      break;
  }
  std::string text = "ok";
  for (const std::string& mark : row.marks) text += (text == "ok" ? " (" : ", ") + oneLine(mark);
  return {text == "ok" ? text : text + ")", Tone::kGood};
}

std::string checkedText(const Row& row) {
  const DataCheck& check = row.check;
  if (check.mode == "none") return "no data";
  if (check.mode == "off") return "off";
  if (check.sent == 0) return kDash;
  return check.messages == check.sent ? std::to_string(check.messages)
                                      : fmt::format("{} of {}", check.messages, check.sent);
}

std::string runsText(const Row& row, std::size_t rounds) {
  return fmt::format("{}/{}", okRuns(row), rounds);
}

std::vector<Column> latencyColumns() {
  return {{"size", true, 0},        {"transport", false, 0},    {"operation", false, 8},
          {"asked path", false, 0}, {"verdict", false, 0},      {"drive", false, 11},
          {"p50 us", true, 0},      {"p99 us", true, 1},        {"p99.9 us", true, 2},
          {"max us", true, 7},      {"round trip us", true, 9}, {"vs base", true, 0},
          {"harness", true, 5},     {"runs", true, 10},         {"checked", true, 4},
          {"outcome", false, 0}};
}

std::vector<Cell> latencyCells(const Row& row, const Context& context) {
  const Headline head = shownHeadline(row);
  const bool whole = !isRoundTrip(row);
  return {{formatSize(row.bytes)},
          {oneLine(row.label)},
          {oneLine(whole ? row.operation + " (full)" : row.operation)},
          {oneLine(row.path)},
          {oneLine(verdictText(row))},
          {oneLine(row.drive)},
          {micro(latencyOf(row, valueOf(head.p50Ns)))},
          {micro(latencyOf(row, head.p99Ns))},
          {micro(latencyOf(row, head.p999Ns))},
          {micro(latencyOf(row, head.maxNs))},
          {whole ? kDash : micro(valueOf(head.p50Ns))},
          {toBaseText(row, context.base)},
          {percent(head.harnessShare)},
          {runsText(row, context.rounds)},
          {checkedText(row)},
          outcomeCell(row)};
}

std::vector<Column> rateColumns() {
  return {{"size", true, 0},          {"transport", false, 0}, {"operation", false, 8},
          {"asked path", false, 0},   {"verdict", false, 0},   {"drive", false, 11},
          {"window", true, 3},        {"batch", true, 4},      {"GB/s", true, 0},
          {"95 % interval", true, 7}, {"Gb/s", true, 1},       {"messages/s", true, 0},
          {"vs base", true, 0},       {"harness", true, 5},    {"runs", true, 10},
          {"checked", true, 2},       {"outcome", false, 0}};
}

std::vector<Cell> rateCells(const Row& row, const Context& context) {
  const Headline head = shownHeadline(row);
  const auto& level = head.bytesPerSecond;
  std::string interval = kDash;
  if (level && level->interval) {
    interval =
        fmt::format("{} .. {}", giga(level->interval->low, 1), giga(level->interval->high, 1));
  }
  return {{formatSize(row.bytes)},
          {oneLine(row.label)},
          {oneLine(row.operation)},
          {oneLine(row.path)},
          {oneLine(verdictText(row))},
          {oneLine(row.drive)},
          {std::to_string(row.window)},
          {std::to_string(row.batch)},
          {level ? giga(level->value, 1) : kDash},
          {interval},
          {level ? giga(level->value, 8) : kDash},
          {head.messagesPerSecond ? formatMessageRate(*head.messagesPerSecond) : kDash},
          {toBaseText(row, context.base)},
          {percent(head.harnessShare)},
          {runsText(row, context.rounds)},
          {checkedText(row)},
          outcomeCell(row)};
}

/// Rows with one title stand in one table: what differs here is never compared in a column.
std::string titleOf(const Row& row) {
  std::string title = row.pattern;
  if (!isStream(row)) {
    title += ": latency is half the round trip";
  } else if (row.direction == "bi") {
    title += ", both ways at once: rates are the sum of both directions";
  } else {
    title += ", one way: the clock stops when the receiver has everything";
  }
  if (row.beside) {
    title += fmt::format(", beside {} other pair{}", *row.beside, *row.beside == 1 ? "" : "s");
  }
  title += fmt::format(" ({}{})", row.memory == "host" ? "host memory" : row.memory,
                       row.drive == "host" ? "" : ", " + row.drive + " drive");
  return oneLine(title);
}

auto comparable(const Row& row) {
  return std::tuple(row.bytes, row.window, row.batch);
}

/// Before the column of the outcome.
void addToAlone(Table& table, const std::vector<const Row*>& rows) {
  table.columns.insert(table.columns.end() - 1, {"vs alone", true, 0});
  std::size_t at = 0;
  for (auto& line : table.rows) {
    if (!line.empty()) line.insert(line.end() - 1, Cell{toAloneText(*rows[at++])});
  }
}

Table tableOf(std::vector<const Row*> rows, const Context& context) {
  // Rows of several documents follow each other; in a table, what is compared stands together.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return comparable(*a) < comparable(*b); });
  const bool stream = isStream(*rows.front());
  Table table{titleOf(*rows.front()), stream ? rateColumns() : latencyColumns(), {}};
  const bool grouped = std::adjacent_find(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
                         return comparable(*a) == comparable(*b);
                       }) != rows.end();
  const Row* before = rows.front();
  for (const Row* row : rows) {
    if (grouped && comparable(*before) != comparable(*row)) table.rows.emplace_back();
    before = row;
    table.rows.push_back(stream ? rateCells(*row, context) : latencyCells(*row, context));
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Row* row) { return row->headline.toAlone; })) {
    addToAlone(table, rows);
  }
  return table;
}

/// Any of the rows has it.
template <class Has>
bool occurs(const Document& document, Has has) {
  return std::any_of(document.rows.begin(), document.rows.end(), has);
}

bool hasDash(const Row& row) {
  const Headline& head = row.headline;
  if (!isOk(row)) return true;
  if (isStream(row)) return !head.bytesPerSecond || !head.bytesPerSecond->interval;
  return !head.p50Ns || !head.p99Ns || !head.p999Ns || !isRoundTrip(row);
}

}  // namespace

std::vector<Table> tablesOf(const Document& document) {
  Context context{document.base};
  std::vector<std::vector<const Row*>> parts;
  std::unordered_map<std::string, std::size_t> places;
  const std::unordered_set<std::size_t> elsewhere = shownByMatrix(document);
  for (std::size_t i = 0; i < document.rows.size(); ++i) {
    const Row& row = document.rows[i];
    context.rounds = std::max(context.rounds, row.runs.size());
    if (elsewhere.contains(i)) continue;
    const auto [place, fresh] = places.emplace(titleOf(row), parts.size());
    if (fresh) parts.emplace_back();
    parts[place->second].push_back(&row);
  }
  std::vector<Table> tables;
  for (auto& rows : parts) tables.push_back(tableOf(std::move(rows), context));
  return tables;
}

std::vector<std::string> legendOf(const Document& document) {
  std::vector<std::string> legend;
  const auto say = [&](bool needed, std::string text) {
    if (needed) legend.push_back(std::move(text));
  };
  say(occurs(document, [](const Row& row) { return row.sample == "full operation"; }),
      "(full): the time of the whole operation, there and back; not halved");
  say(occurs(document, [](const Row& row) { return row.headline.ratio.has_value(); }),
      fmt::format("vs base: this row over the base's ({}), of p50 latency (less is better) or of "
                  "rate (more is better); [95 % interval over runs]",
                  oneLine(document.base)));
  say(occurs(document, [](const Row& row) { return row.headline.toAlone.has_value(); }),
      "vs alone: this pair beside the others over the same pair alone, of p50 latency (less is "
      "better) or of rate (more is better)");
  say(occurs(document, [](const Row& row) { return row.headline.harnessShare.has_value(); }),
      "harness: what the null transport takes in the same pattern, over what this row takes; it is "
      "contained in the row");
  say(occurs(document, [](const Row& row) { return row.verdict.has_value(); }),
      "verdict: the path that the evidence proves, whatever was asked for; n/a: host memory on "
      "both "
      "sides; the argument for a row: gdrbench report RESULT --explain ROW");
  say(occurs(document, [](const Row& row) { return row.check.sent != 0; }),
      "checked: messages compared byte by byte with what was sent");
  say(occurs(document, isStream),
      "GB/s is 10^9 bytes a second, Gb/s 10^9 bits; KiB and MiB are powers of 1024");
  say(occurs(document, hasDash),
      "-: not measured, or too few samples to say (p99 needs 368, p99.9 needs 3688)");
  for (const MarkText& known : kMarks) {
    say(occurs(document,
               [&](const Row& row) {
                 return std::find(row.marks.begin(), row.marks.end(), known.mark) !=
                        row.marks.end();
               }),
        fmt::format("{}: {}", known.mark, known.text));
  }
  return legend;
}

}  // namespace gdrbench::report
