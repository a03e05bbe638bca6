// SPDX-License-Identifier: Apache-2.0
#include "harness/report/matrix_class.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace gdrbench::report {
namespace {

using Cells = std::span<const SpeedCell>;

double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool sameClass(const SpeedCell& a, const SpeedCell& b) {
  return a.kind == b.kind && a.link == b.link;
}

bool touches(const SpeedCell& cell, std::size_t place) {
  return cell.source == place || cell.destination == place;
}

/// The cell's share of the median of those of its class that `counts` lets in; nothing when they
/// are too few.
template <class Counts>
std::optional<double> shareOf(const SpeedCell& cell, Cells cells, Counts counts) {
  std::vector<double> others;
  for (const SpeedCell& other : cells) {
    if (&other != &cell && sameClass(other, cell) && counts(other)) others.push_back(other.speed);
  }
  if (others.size() + 1 < kClassCells) return {};
  const double middle = medianOf(std::move(others));
  if (!(middle > 0)) return {};
  return cell.speed / middle;
}

/// All cells of one kind that leave a place, or come to it.
struct Line {
  std::size_t place = 0;
  bool leaves = true;
  std::string kind;
  auto operator<=>(const Line&) const = default;
  [[nodiscard]] bool holds(const SpeedCell& cell) const {
    return cell.kind == kind && (leaves ? cell.source : cell.destination) == place;
  }
};

/// Slow as a whole: at least two cells, each below what the rest of its class does that has nothing
/// to do with the place. The median of the shares then.
std::optional<double> slownessOf(const Line& line, Cells cells) {
  std::vector<double> shares;
  for (const SpeedCell& cell : cells) {
    if (!line.holds(cell)) continue;
    const auto share =
        shareOf(cell, cells, [&](const SpeedCell& other) { return !touches(other, line.place); });
    if (!share) continue;
    if (*share >= kClassFloor) return {};
    shares.push_back(*share);
  }
  if (shares.size() < 2) return {};
  return medianOf(std::move(shares));
}

std::vector<std::pair<Line, double>> slowLines(Cells cells) {
  std::set<Line> lines;
  for (const SpeedCell& cell : cells) {
    lines.insert({cell.source, true, cell.kind});
    lines.insert({cell.destination, false, cell.kind});
  }
  std::vector<std::pair<Line, double>> slow;
  for (const Line& line : lines) {
    if (const auto share = slownessOf(line, cells)) slow.emplace_back(line, *share);
  }
  return slow;
}

/// Row and column of one place are one finding, with the worse of the two shares.
std::vector<SlowPart> slowPlaces(const std::vector<std::pair<Line, double>>& lines) {
  std::vector<SlowPart> places;
  for (const auto& [line, share] : lines) {
    if (places.empty() || places.back().source != line.place) {
      places.push_back({.source = line.place, .destination = line.place, .share = share});
    }
    SlowPart& place = places.back();
    (line.leaves ? place.asSource : place.asDestination) = true;
    place.share = std::min(place.share, share);
  }
  return places;
}

}  // namespace

Judgement judge(std::span<const SpeedCell> cells) {
  const auto lines = slowLines(cells);
  const auto explained = [&](const SpeedCell& cell) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.first.holds(cell); });
  };
  Judgement found{.below = std::vector<std::optional<double>>(cells.size()),
                  .parts = slowPlaces(lines)};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto share =
        shareOf(cells[i], cells, [&](const SpeedCell& other) { return !explained(other); });
    if (!share || *share >= kClassFloor) continue;
    found.below[i] = share;
    if (explained(cells[i])) continue;
    found.parts.push_back(
        {.source = cells[i].source, .destination = cells[i].destination, .share = *share});
  }
  return found;
}

}  // namespace gdrbench::report
