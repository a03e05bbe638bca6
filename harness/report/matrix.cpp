// SPDX-License-Identifier: Apache-2.0
#include "harness/report/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "harness/core/units.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

constexpr std::string_view kArrow = " -> ";

struct Ends {
  std::string source, destination;
};

/// "pinned:3 -> cuda:3" is host memory near the GPU, and so one place for all GPUs; "pinned:0 ->
/// cuda:3" is a place of its own.
std::string placeOf(const std::string& end, const std::string& other) {
  constexpr std::string_view kPinned = "pinned:", kCuda = "cuda:";
  if (!end.starts_with(kPinned) || !other.starts_with(kCuda)) return end;
  return end.substr(kPinned.size()) == other.substr(kCuda.size()) ? "pinned" : end;
}

/// Nothing for a row whose two sides have the same memory: it has no pair to be compared by.
std::optional<Ends> endsOf(const Row& row) {
  const std::size_t arrow = row.memory.find(kArrow);
  if (arrow == std::string::npos) return {};
  const std::string from = row.memory.substr(0, arrow);
  const std::string to = row.memory.substr(arrow + kArrow.size());
  return Ends{placeOf(from, to), placeOf(to, from)};
}

std::string kindOf(const std::string& place) {
  return place.substr(0, place.find(':'));
}

/// Everything that must be the same for two rows to be cells of one matrix.
std::string groupOf(const Row& row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", row.label, row.transport,
                     row.operation, row.path, row.drive, row.pattern, row.bytes, row.direction,
                     row.window, row.batch, row.beside.has_value());
}

/// Host memory first, then GPUs by number; names that are no numbers by their text.
auto orderOf(const std::string& place) {
  const std::size_t colon = place.find(':');
  const std::string name = colon == std::string::npos ? std::string() : place.substr(colon + 1);
  const auto number = parseInteger(name);
  const std::int64_t rank = name.empty() ? -1 : number ? *number : std::int64_t{1} << 32;
  return std::tuple(kindOf(place) == "cuda", kindOf(place), rank, name);
}

struct PlacedRow {
  std::size_t row;
  Ends ends;
};

Matrix matrixOf(const std::vector<PlacedRow>& rows) {
  Matrix matrix;
  for (const PlacedRow& each : rows) {
    matrix.places.push_back(each.ends.source);
    matrix.places.push_back(each.ends.destination);
  }
  auto& places = matrix.places;
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return orderOf(a) < orderOf(b); });
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const auto numberOf = [&](const std::string& place) {
    return static_cast<std::size_t>(std::find(places.begin(), places.end(), place) -
                                    places.begin());
  };
  for (const PlacedRow& each : rows) {
    matrix.cells.push_back({each.row, numberOf(each.ends.source), numberOf(each.ends.destination)});
  }
  return matrix;
}

/// More is better; nothing for a cell without a figure.
std::optional<double> speedOf(const Row& row) {
  const Headline head = shownHeadline(row);
  if (isStream(row)) return valueOf(head.bytesPerSecond);
  const auto latency = latencyOf(row, valueOf(head.p50Ns));
  if (!latency || !(*latency > 0)) return {};
  return 1 / *latency;
}

}  // namespace

std::vector<Matrix> matricesOf(const Document& document) {
  std::vector<std::vector<PlacedRow>> groups;
  std::unordered_map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < document.rows.size(); ++i) {
    const Row& row = document.rows[i];
    const auto ends = endsOf(row);
    if (!ends) continue;
    const auto [place, fresh] = numbers.emplace(groupOf(row), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back({i, *ends});
  }
  std::vector<Matrix> matrices;
  for (const auto& rows : groups) {
    if (rows.size() >= 2) matrices.push_back(matrixOf(rows));
  }
  return matrices;
}

std::string linkOf(const Row& row) {
  for (const Run& run : row.runs) {
    if (std::string link = factOf(run.initiator, "link"); !link.empty()) return link;
  }
  return {};
}

MatrixSpeeds speedsOf(const Document& document, const Matrix& matrix) {
  MatrixSpeeds speeds;
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    const MatrixCell& cell = matrix.cells[i];
    const Row& row = document.rows[cell.row];
    const auto speed = speedOf(row);
    if (!speed) continue;
    speeds.at.push_back(i);
    speeds.cells.push_back({.source = cell.source,
                            .destination = cell.destination,
                            .kind = fmt::format("{} -> {}", kindOf(matrix.places[cell.source]),
                                                kindOf(matrix.places[cell.destination])),
                            .link = linkOf(row),
                            .speed = *speed});
  }
  return speeds;
}

void markBelowClass(Document& document) {
  for (Row& row : document.rows) std::erase(row.marks, kBelowClass);
  for (const Matrix& matrix : matricesOf(document)) {
    const MatrixSpeeds speeds = speedsOf(document, matrix);
    const Judgement found = judge(speeds.cells);
    for (std::size_t i = 0; i < speeds.at.size(); ++i) {
      if (!found.below[i]) continue;
      document.rows[matrix.cells[speeds.at[i]].row].marks.emplace_back(kBelowClass);
    }
  }
}

}  // namespace gdrbench::report
