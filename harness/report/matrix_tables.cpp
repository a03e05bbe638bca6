// SPDX-License-Identifier: Apache-2.0
#include "harness/report/matrix_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/report/display.h"
#include "harness/report/matrix.h"
#include "harness/report/path_evidence.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

/// Cells named in a line; the others are counted.
constexpr std::size_t kNamed = 6;
/// Causes told below a matrix; all are told below all tables.
constexpr std::size_t kCauses = 8;

const Row& rowOf(const Document& document, const MatrixCell& cell) {
  return document.rows[cell.row];
}

std::string nameOf(const Matrix& matrix, std::size_t source, std::size_t destination) {
  return fmt::format("{} -> {}", matrix.places[source], matrix.places[destination]);
}

std::string titleOf(const Row& row) {
  std::string title = fmt::format("{}: {} of {}", row.label, row.pattern, formatSize(row.bytes));
  if (!isStream(row)) {
    title += isRoundTrip(row) ? ", half the round trip in us" : ", the full operation in us";
  } else if (row.direction == "bi") {
    title += ", both ways at once, the sum in GB/s";
  } else {
    title += ", one way, GB/s";
  }
  if (row.beside) title += ", in rounds of disjoint pairs at the same time";
  title += ", from the row to the column";
  const std::string drive = row.drive == "host" ? "" : ", " + row.drive + " drive";
  if (row.path != "direct" || !drive.empty()) {
    title += fmt::format(" (asked path: {}{})", row.path, drive);
  }
  return oneLine(title);
}

// --- figures -------------------------------------------------------------------------------------

/// Two decimals, and three significant digits of what is smaller.
std::string figure(double value) {
  int digits = 2;
  for (double least = 1; value < least && digits < 9; least /= 10) ++digits;
  return fmt::format("{:.{}f}", value, digits);
}

Cell figureCell(const Row& row) {
  const Headline head = shownHeadline(row);
  std::optional<double> value;
  if (isStream(row)) {
    value = valueOf(head.bytesPerSecond);
    if (value) *value /= 1e9;
  } else {
    value = latencyOf(row, valueOf(head.p50Ns));
    if (value) *value /= 1e3;
  }
  if (!value) return {"-", row.outcome.kind == OutcomeKind::kFailed ? Tone::kBad : Tone::kFaint};
  const bool below = std::find(row.marks.begin(), row.marks.end(), kBelowClass) != row.marks.end();
  return {(below ? "!" : "") + figure(*value), below ? Tone::kBad : Tone::kPlain};
}

/// Places that are only a source have no column, and the other way round.
template <class Text>
Table gridOf(const Document& document, const Matrix& matrix, std::string title, Text text) {
  std::set<std::size_t> sources, destinations;
  std::map<std::pair<std::size_t, std::size_t>, Cell> cells;
  for (const MatrixCell& cell : matrix.cells) {
    sources.insert(cell.source);
    destinations.insert(cell.destination);
    cells[{cell.source, cell.destination}] = text(rowOf(document, cell));
  }
  Table table{std::move(title), {{"from \\ to", false, 0}}, {}};
  for (const std::size_t to : destinations) {
    table.columns.push_back({oneLine(matrix.places[to]), true, 0});
  }
  for (const std::size_t from : sources) {
    std::vector<Cell> line = {{oneLine(matrix.places[from])}};
    for (const std::size_t to : destinations) line.push_back(cells[{from, to}]);
    table.rows.push_back(std::move(line));
  }
  return table;
}

// --- links ---------------------------------------------------------------------------------------

std::set<std::string> linksOf(const Document& document, const Matrix& matrix) {
  std::set<std::string> links;
  for (const MatrixCell& cell : matrix.cells) {
    // A cell that never ran has none.
    if (const std::string link = linkOf(rowOf(document, cell)); !link.empty()) links.insert(link);
  }
  return links;
}

void addLinks(MatrixTables& all, const Document& document, const Matrix& matrix) {
  const std::set<std::string> links = linksOf(document, matrix);
  if (links.size() == 1) all.lines.push_back("link of every cell: " + oneLine(*links.begin()));
  if (links.size() < 2) return;
  all.tables.push_back(gridOf(document, matrix, "links of these cells", [](const Row& row) {
    const std::string link = linkOf(row);
    return Cell{link.empty() ? "-" : oneLine(link)};
  }));
}

// --- lines ---------------------------------------------------------------------------------------

/// "cuda:0 -> cuda:1, cuda:0 -> cuda:2 and 5 more".
std::string namesOf(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return listed(names);
  std::string text;
  for (std::size_t i = 0; i < kNamed; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + fmt::format(" and {} more", names.size() - kNamed);
}

/// Names of cells by what they have in common, in the order of the first.
class Grouped {
 public:
  explicit Grouped(bool namesFirst) : namesFirst_(namesFirst) {}
  void add(const std::string& what, std::string name) {
    const auto [place, fresh] = places_.emplace(what, groups_.size());
    if (fresh) groups_.push_back({what, {}});
    groups_[place->second].second.push_back(std::move(name));
  }
  void write(std::vector<std::string>& lines) const {
    for (std::size_t i = 0; i < std::min(groups_.size(), kCauses); ++i) {
      const auto& [what, names] = groups_[i];
      lines.push_back(
          oneLine(namesFirst_ ? namesOf(names) + ": " + what : what + ": " + namesOf(names)));
    }
    if (groups_.size() <= kCauses) return;
    lines.push_back(fmt::format("and {} more causes: see below", groups_.size() - kCauses));
  }

 private:
  bool namesFirst_;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
  std::unordered_map<std::string, std::size_t> places_;
};

void addChecked(std::vector<std::string>& lines, const Document& document, const Matrix& matrix) {
  std::uint64_t messages = 0;
  std::vector<std::string> unchecked;
  for (const MatrixCell& cell : matrix.cells) {
    const Row& row = rowOf(document, cell);
    messages += row.check.messages;
    const bool whole = row.check.mode == "all" && row.check.messages == row.check.sent;
    if (isOk(row) && !whole) unchecked.push_back(nameOf(matrix, cell.source, cell.destination));
  }
  std::string line = fmt::format("checked byte by byte: {} messages", messages);
  if (!unchecked.empty()) line += "; not all of " + namesOf(unchecked);
  lines.push_back(line);
}

/// By what paths the cells are proved to have gone: "verdict direct (nvlink): cuda:0 -> cuda:1".
void addVerdicts(std::vector<std::string>& lines, const Document& document, const Matrix& matrix) {
  Grouped verdicts(false);
  for (const MatrixCell& cell : matrix.cells) {
    const Row& row = rowOf(document, cell);
    if (!isOk(row) || !row.verdict) continue;
    verdicts.add("verdict " + verdictText(row), nameOf(matrix, cell.source, cell.destination));
  }
  verdicts.write(lines);
}

/// Why cells are empty, and what is to be known about others.
void addCauses(std::vector<std::string>& lines, const Document& document, const Matrix& matrix) {
  Grouped causes(true), marks(false);
  for (const MatrixCell& cell : matrix.cells) {
    const Row& row = rowOf(document, cell);
    const std::string name = nameOf(matrix, cell.source, cell.destination);
    if (!isOk(row)) {
      const bool failed = row.outcome.kind == OutcomeKind::kFailed;
      causes.add((failed ? "FAILED: " : "skipped: ") + row.outcome.reason, name);
    }
    for (const std::string& mark : row.marks) {
      if (mark != kBelowClass) marks.add(mark, name);
    }
  }
  causes.write(lines);
  marks.write(lines);
}

std::string partText(const Matrix& matrix, const SlowPart& part) {
  const std::string share = fmt::format("{:.2f} of the median of {}", part.share,
                                        part.isPlace() ? "the others" : "its class");
  if (!part.isPlace()) {
    return fmt::format("link {}: {}", nameOf(matrix, part.source, part.destination), share);
  }
  const std::string& place = matrix.places[part.source];
  const char* where = !part.asDestination ? "in its row"
                      : !part.asSource    ? "in its column"
                                          : "in its row and its column";
  return fmt::format("{}{} is slow {}: {}", place.starts_with("cuda:") ? "GPU " : "", place, where,
                     share);
}

void addSlowParts(std::vector<std::string>& lines, const Document& document, const Matrix& matrix) {
  for (const SlowPart& part : judge(speedsOf(document, matrix).cells).parts) {
    lines.push_back(oneLine(partText(matrix, part)));
  }
}

/// What the other pairs cost: the middle of all cells, and the cell that lost most.
void addCompany(std::vector<std::string>& lines, const Document& document, const Matrix& matrix) {
  std::vector<std::pair<double, std::string>> ratios;
  std::set<std::uint32_t> others;
  for (const MatrixCell& cell : matrix.cells) {
    const Row& row = rowOf(document, cell);
    const auto ratio = shownHeadline(row).toAlone;
    if (!row.beside || !ratio || !(ratio->value > 0)) continue;
    others.insert(*row.beside);
    // Of latencies more is worse: turned round, so that 0.5 is half as good in both.
    const double share = isStream(row) ? ratio->value : 1 / ratio->value;
    ratios.emplace_back(share, nameOf(matrix, cell.source, cell.destination));
  }
  if (ratios.empty()) return;
  std::sort(ratios.begin(), ratios.end());
  const std::string beside = *others.begin() == *others.rbegin()
                                 ? fmt::format("{}", *others.begin())
                                 : fmt::format("{} to {}", *others.begin(), *others.rbegin());
  lines.push_back(
      oneLine(fmt::format("beside {} other pair{}: {:.2f} of what the same pair does alone, in the "
                          "middle; least {:.2f}: "
                          "{}",
                          beside, beside == "1" ? "" : "s", ratios[ratios.size() / 2].first,
                          ratios.front().first, ratios.front().second)));
}

}  // namespace

std::vector<MatrixTables> matrixTablesOf(const Document& document) {
  std::vector<MatrixTables> all;
  for (const Matrix& matrix : matricesOf(document)) {
    MatrixTables one;
    const std::string title = titleOf(rowOf(document, matrix.cells.front()));
    one.tables.push_back(gridOf(document, matrix, title, figureCell));
    addLinks(one, document, matrix);
    addVerdicts(one.lines, document, matrix);
    addCompany(one.lines, document, matrix);
    addSlowParts(one.lines, document, matrix);
    addCauses(one.lines, document, matrix);
    addChecked(one.lines, document, matrix);
    all.push_back(std::move(one));
  }
  return all;
}

std::unordered_set<std::size_t> shownByMatrix(const Document& document) {
  const auto compared = [](const Row& row) {
    return fmt::format("{}\n{}\n{}\n{}\n{}", row.pattern, row.bytes, row.direction, row.memory,
                       row.beside.has_value());
  };
  std::unordered_map<std::string, int> rows;
  for (const Row& row : document.rows) ++rows[compared(row)];
  std::unordered_set<std::size_t> shown;
  for (const Matrix& matrix : matricesOf(document)) {
    for (const MatrixCell& cell : matrix.cells) {
      if (rows[compared(rowOf(document, cell))] == 1) shown.insert(cell.row);
    }
  }
  return shown;
}

}  // namespace gdrbench::report
