// SPDX-License-Identifier: Apache-2.0
#include "harness/report/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/core/units.h"
#include "harness/report/display.h"
#include "harness/report/path_evidence.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"') safe += '"';
    safe += c;
  }
  return safe + "\"";
}

/// Collects the fields of one line, or their names.
class Line {
 public:
  explicit Line(bool names) : names_(names) {}
  void text(const char* name, const std::string& value) { add(names_ ? name : oneLine(value)); }
  void number(const char* name, std::optional<double> value) {
    add(names_ ? name : value && std::isfinite(*value) ? formatNumber(*value) : "");
  }
  void count(const char* name, std::uint64_t value) { add(names_ ? name : std::to_string(value)); }
  [[nodiscard]] std::string take() { return std::move(line_); }

 private:
  void add(const std::string& field) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += quoted(field);
  }
  bool names_, first_ = true;
  std::string line_;
};

std::string_view word(OutcomeKind kind) {
  return kind == OutcomeKind::kOk ? "ok" : kind == OutcomeKind::kFailed ? "failed" : "skipped";
}

std::optional<double> low(const std::optional<Level>& level) {
  return level && level->interval ? std::optional(level->interval->low) : std::nullopt;
}
std::optional<double> high(const std::optional<Level>& level) {
  return level && level->interval ? std::optional(level->interval->high) : std::nullopt;
}

std::string marksOf(const Row& row) {
  std::string text;
  for (const std::string& mark : row.marks) text += (text.empty() ? "" : " ") + mark;
  return text;
}

std::string lineOf(const Document& document, const Row& row, bool names) {
  const Headline head = shownHeadline(row);
  const std::optional<Level> ratio = head.ratio ? std::optional(head.ratio->level) : std::nullopt;
  Line line(names);
  line.count("schema_version", kSchemaVersion);
  line.text("name", document.name);
  line.text("started", document.started);
  line.text("id", row.id);
  line.text("label", row.label);
  line.text("transport", row.transport);
  line.text("operation", row.operation);
  line.text("path", row.path);
  line.text("verdict", verdictText(row));
  line.text("drive", row.drive);
  line.text("memory", row.memory);
  line.text("pattern", row.pattern);
  line.count("size_bytes", row.bytes);
  line.text("direction", row.direction);
  line.count("window", row.window);
  line.count("batch", row.batch);
  line.count("pairs_beside", row.beside.value_or(0));
  line.text("sample", row.sample);
  line.text("outcome", std::string(word(row.outcome.kind)));
  line.text("reason", row.outcome.reason);
  line.count("runs", row.runs.size());
  line.count("runs_ok", okRuns(row));
  line.number("latency_p50_ns", latencyOf(row, valueOf(head.p50Ns)));
  line.number("p50_ns", valueOf(head.p50Ns));
  line.number("p50_low_ns", low(head.p50Ns));
  line.number("p50_high_ns", high(head.p50Ns));
  line.number("p90_ns", head.p90Ns);
  line.number("p99_ns", head.p99Ns);
  line.number("p999_ns", head.p999Ns);
  line.number("min_ns", head.minNs);
  line.number("max_ns", head.maxNs);
  line.number("bandwidth_Bps", valueOf(head.bytesPerSecond));
  line.number("bandwidth_low_Bps", low(head.bytesPerSecond));
  line.number("bandwidth_high_Bps", high(head.bytesPerSecond));
  line.number("messages_per_s", head.messagesPerSecond);
  line.text("base", head.ratio ? head.ratio->base : "");
  line.number("ratio", valueOf(ratio));
  line.number("ratio_low", low(ratio));
  line.number("ratio_high", high(ratio));
  line.number("to_alone", valueOf(head.toAlone));
  line.number("harness_share", head.harnessShare);
  line.text("check", row.check.mode);
  line.count("received_messages", row.check.sent);
  line.count("checked_messages", row.check.messages);
  line.count("checked_bytes", row.check.bytes);
  line.text("marks", marksOf(row));
  return line.take();
}

}  // namespace

std::string renderCsv(const Document& document) {
  std::string text = lineOf(document, Row{}, true);
  for (const Row& row : document.rows) text += '\n' + lineOf(document, row, false);
  return text;
}

}  // namespace gdrbench::report
