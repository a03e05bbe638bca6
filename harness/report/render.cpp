// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/report/csv.h"
#include "harness/report/report.h"
#include "harness/report/tables.h"

namespace gdrbench::report {
namespace {

constexpr std::array kFormats = {
    std::pair{std::string_view("table"), Format::kTable},
    std::pair{std::string_view("markdown"), Format::kMarkdown},
    std::pair{std::string_view("csv"), Format::kCsv},
    std::pair{std::string_view("json"), Format::kJson},
};

std::string fact(const Document& document, std::string_view key) {
  for (const auto& [name, value] : document.environment) {
    if (name == key) return value;
  }
  return "unknown";
}

std::vector<std::string> headLines(const Document& document) {
  std::vector<std::string> lines = {
      fmt::format("gdrbench {}: {}, {}{}", document.version, document.name, document.started,
                  document.status == "complete" ? "" : " (" + document.status + ")"),
      fmt::format("host {}; {}; CPUs {}; {}; governor {}", fact(document, "host"),
                  fact(document, "cpu"), fact(document, "cpus allowed"), fact(document, "kernel"),
                  fact(document, "cpu governor"))};
  const Overhead& overhead = document.overhead;
  std::string price =
      fmt::format("harness: a clock read {} (steps of {})", formatDuration(overhead.clockReadNs),
                  formatDuration(overhead.clockGranularityNs));
  if (overhead.nullPingPong) {
    price += fmt::format("; null ping-pong p50 {}", formatDuration(overhead.nullPingPong->p50));
    if (overhead.nullPingPong->p999) {
      price += fmt::format(", p99.9 {}", formatDuration(*overhead.nullPingPong->p999));
    }
  }
  if (overhead.nullStreamNs) {
    price += fmt::format("; null stream {} a message", formatDuration(*overhead.nullStreamNs));
  }
  lines.push_back(price);
  return lines;
}

std::string renderTable(const Document& document, const Style& style) {
  std::string text;
  for (const std::string& line : headLines(document)) text += line + "\n";
  for (Table& table : tablesOf(document)) {
    const auto left = fit(table, static_cast<std::size_t>(std::max(0, style.width)));
    text += "\n" + writeText(table, style.colour, style.unicode);
    if (!left.empty()) {
      text += fmt::format("(left out to fit {} columns: {}; all are in results.csv)\n", style.width,
                          listed(left));
    }
  }
  text += "\n";
  for (const std::string& line : legendOf(document)) text += line + "\n";
  for (const std::string& note : document.notes) text += "note: " + note + "\n";
  text += renderFailures(document);
  return text + "\n" + summaryLine(document);
}

std::string renderMarkdown(const Document& document) {
  std::string text = fmt::format("## {}\n\n", document.name);
  for (const std::string& line : headLines(document)) text += line + "  \n";
  for (const Table& table : tablesOf(document)) text += "\n" + writeMarkdown(table);
  text += "\n";
  for (const std::string& line : legendOf(document)) text += "- " + line + "\n";
  for (const std::string& note : document.notes) text += "- note: " + note + "\n";
  if (const std::string failures = renderFailures(document); !failures.empty()) {
    text += "\n```\n" + failures + "```\n";
  }
  return text + "\n" + summaryLine(document) + "\n";
}

void addFailure(std::string& text, const Row& row) {
  if (row.outcome.kind == OutcomeKind::kOk) return;
  const bool failed = row.outcome.kind == OutcomeKind::kFailed;
  text += fmt::format("\n{} {}\n", failed ? "FAILED" : "skipped", row.id);
  if (row.outcome.errors.empty()) text += fmt::format("  {}\n", row.outcome.reason);
  for (const SideError& error : row.outcome.errors) {
    text += fmt::format("  {} ({}): {}\n", error.side, error.phase, error.error.what());
  }
  for (const Run& run : row.runs) {
    if (run.outcome.kind == OutcomeKind::kOk || run.messages == 0) continue;
    text += fmt::format("  round {}: {} messages had been measured\n", run.round + 1, run.messages);
  }
}

}  // namespace

Result<Format> parseFormat(std::string_view text) {
  std::array<std::string_view, kFormats.size()> names;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].first == text) return kFormats[i].second;
    names[i] = kFormats[i].first;
  }
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("there is no format '{}'{}", text, suggestion(text, names))};
}

std::string renderFailures(const Document& document) {
  if (document.rows.empty()) return "\nFAILED: there is no row at all: nothing was run\n";
  std::string text;
  for (const Row& row : document.rows) addFailure(text, row);
  return text;
}

std::string summaryLine(const Document& document) {
  std::array<std::size_t, 3> rows{};
  std::uint64_t checked = 0;
  std::size_t bad = 0;
  for (const Row& row : document.rows) {
    ++rows[static_cast<std::size_t>(row.outcome.kind)];
    checked += row.check.messages;
    const auto& errors = row.outcome.errors;
    bad += static_cast<std::size_t>(std::count_if(errors.begin(), errors.end(), [](const auto& e) {
      return e.error.code == ErrorCode::kData;
    }));
  }
  return fmt::format("gdrbench: {} ok, {} failed, {} skipped; {} messages checked, {} bad", rows[0],
                     rows[2], rows[1], checked, bad);
}

std::string render(const Document& document, Format format, const Style& style) {
  switch (format) {
    case Format::kMarkdown:
      return renderMarkdown(document);
    case Format::kCsv:
      return renderCsv(document);
    case Format::kJson:
      return writeJsonPretty(toJson(document));
    case Format::kTable:
      break;
  }
  return renderTable(document, style);
}

}  // namespace gdrbench::report
