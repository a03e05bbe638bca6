// SPDX-License-Identifier: Apache-2.0
// What did not end well, and the line that sums it all up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "harness/report/display.h"
#include "harness/report/report.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

std::string accountOf(const SideError& view) {
  return oneLine(fmt::format("{} ({}): {}", view.side, view.phase, view.error.what()));
}

void addFailure(std::string& text, const Row& row) {
  text += "\nFAILED " + oneLine(row.id);
  const std::size_t bad = row.runs.size() - okRuns(row);
  if (row.runs.size() > 1) text += fmt::format(" ({} of {} rounds)", bad, row.runs.size());
  text += '\n';
  if (row.outcome.errors.empty()) text += "  " + oneLine(row.outcome.reason) + "\n";
  for (const SideError& view : row.outcome.errors) text += "  " + accountOf(view) + "\n";
  for (const Run& run : row.runs) {
    if (run.outcome.kind == OutcomeKind::kOk || run.messages == 0) continue;
    text += fmt::format("  round {}: {} messages had been measured\n", run.round + 1, run.messages);
  }
}

/// One cause often skips many rows: it is told once.
void addSkipped(std::string& text, const Document& document) {
  std::vector<std::pair<std::string, std::vector<const Row*>>> causes;
  std::unordered_map<std::string, std::size_t> places;
  for (const Row& row : document.rows) {
    if (row.outcome.kind != OutcomeKind::kSkipped) continue;
    const auto [place, fresh] = places.emplace(row.outcome.reason, causes.size());
    if (fresh) causes.push_back({row.outcome.reason, {}});
    causes[place->second].second.push_back(&row);
  }
  constexpr std::size_t kNamed = 20;
  for (const auto& [reason, rows] : causes) {
    text += "\nskipped:";
    for (std::size_t i = 0; i < std::min(rows.size(), kNamed); ++i) {
      text += (i == 0 ? " " : ", ") + oneLine(rows[i]->id);
    }
    if (rows.size() > kNamed) text += fmt::format(" and {} more", rows.size() - kNamed);
    text += "\n  " + oneLine(reason) + "\n";
  }
}

/// A run stops at the first bad message, so that there is one for each run that found some.
bool foundBadData(const Outcome& outcome) {
  return std::any_of(outcome.errors.begin(), outcome.errors.end(),
                     [](const SideError& view) { return view.error.code == ErrorCode::kData; });
}

std::size_t badRuns(const Row& row) {
  if (row.runs.empty()) return foundBadData(row.outcome) ? 1 : 0;
  return static_cast<std::size_t>(std::count_if(
      row.runs.begin(), row.runs.end(), [](const Run& run) { return foundBadData(run.outcome); }));
}

}  // namespace

std::string renderFailures(const Document& document) {
  if (document.rows.empty()) return "\nFAILED: there is no row at all: nothing was run\n";
  std::string text;
  for (const Row& row : document.rows) {
    if (row.outcome.kind == OutcomeKind::kFailed) addFailure(text, row);
  }
  addSkipped(text, document);
  return text;
}

std::string summaryLine(const Document& document) {
  std::array<std::size_t, 3> rows{};
  std::uint64_t checked = 0;
  std::size_t bad = 0;
  for (const Row& row : document.rows) {
    ++rows[static_cast<std::size_t>(row.outcome.kind)];
    checked += row.check.messages;
    bad += badRuns(row);
  }
  return fmt::format("gdrbench: {} ok, {} failed, {} skipped; {} messages checked, {} bad", rows[0],
                     rows[2], rows[1], checked, bad);
}

}  // namespace gdrbench::report
