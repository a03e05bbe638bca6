// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/report/csv.h"
#include "harness/report/display.h"
#include "harness/report/document_text.h"
#include "harness/report/matrix_tables.h"
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

std::string priceOfHarness(const Overhead& overhead) {
  std::string price = fmt::format("harness: clock {}, a read {}, steps of {}", overhead.clock,
                                  formatDuration(overhead.clockReadNs),
                                  formatDuration(overhead.clockGranularityNs));
  if (!overhead.clockNote.empty()) price += " (" + overhead.clockNote + ")";
  if (overhead.nullPingPong) {
    price += fmt::format("; null round trip p50 {}", formatDuration(overhead.nullPingPong->p50));
    if (overhead.nullPingPong->p999) {
      price += fmt::format(", p99.9 {}", formatDuration(*overhead.nullPingPong->p999));
    }
  }
  if (overhead.nullStreamNs) {
    price += fmt::format("; null stream {} a message", formatDuration(*overhead.nullStreamNs));
  }
  if (!overhead.nullPingPong && !overhead.nullStreamNs) price += "; overhead was not measured";
  return price;
}

std::vector<std::string> headLines(const Document& document) {
  std::vector<std::string> lines = {
      fmt::format("gdrbench {}: {}, {}{}", document.version, document.name, document.started,
                  document.status == "complete" ? "" : " (" + document.status + ")"),
      fmt::format("host {}; {}; CPUs {}; {}; governor {}", fact(document, "host"),
                  fact(document, "cpu"), fact(document, "cpus allowed"), fact(document, "kernel"),
                  fact(document, "cpu governor")),
      priceOfHarness(document.overhead)};
  for (std::string& line : lines) line = oneLine(line);
  return lines;
}

std::string indented(std::string_view lines) {
  std::string text;
  bool start = true;
  for (const char c : lines) {
    if (start && c != '\n') text += "    ";
    start = c == '\n';
    text += c;
  }
  return text;
}

std::string renderTable(const Document& document, const Style& style) {
  const auto width = static_cast<std::size_t>(std::max(0, style.width));
  std::string text;
  const auto add = [&](const std::string& line) { text += wrapped(line, width, 2) + "\n"; };
  for (const std::string& line : headLines(document)) add(line);
  for (Table& table : tablesOf(document)) {
    const auto left = fit(table, width);
    text += "\n" + writeText(table, style.colour, style.unicode);
    if (left.empty()) continue;
    add(fmt::format("(left out to fit {} columns: {}; all are in results.csv)", style.width,
                    listed(left)));
  }
  for (const MatrixTables& matrix : matrixTablesOf(document)) {
    for (const Table& table : matrix.tables) {
      text += "\n" + writeText(table, style.colour, style.unicode);
    }
    for (const std::string& line : matrix.lines) add(line);
  }
  text += "\n";
  for (const std::string& line : legendOf(document)) add(line);
  for (const std::string& note : document.notes) add("note: " + oneLine(note));
  text += renderFailures(document);
  return text + "\n" + summaryLine(document);
}

std::string renderMarkdown(const Document& document) {
  std::string text = fmt::format("## {}\n\n", markdownText(oneLine(document.name)));
  for (const std::string& line : headLines(document)) text += markdownText(line) + "  \n";
  for (const Table& table : tablesOf(document)) text += "\n" + writeMarkdown(table);
  for (const MatrixTables& matrix : matrixTablesOf(document)) {
    for (const Table& table : matrix.tables) text += "\n" + writeMarkdown(table);
    text += "\n";
    for (const std::string& line : matrix.lines) text += "- " + markdownText(line) + "\n";
  }
  text += "\n";
  for (const std::string& line : legendOf(document)) text += "- " + markdownText(line) + "\n";
  for (const std::string& note : document.notes) {
    text += "- note: " + markdownText(oneLine(note)) + "\n";
  }
  if (const std::string failures = renderFailures(document); !failures.empty()) {
    // Indented: no text inside can end the block, as it could end a fence.
    text += "\n" + indented(failures);
  }
  return text + "\n" + markdownText(summaryLine(document));
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

std::string render(const Document& document, Format format, const Style& style) {
  switch (format) {
    case Format::kMarkdown:
      return renderMarkdown(document);
    case Format::kCsv:
      return renderCsv(document);
    case Format::kJson:
      return writeDocument(document);
    case Format::kTable:
      break;
  }
  return renderTable(document, style);
}

}  // namespace gdrbench::report
