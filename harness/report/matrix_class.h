// SPDX-License-Identifier: Apache-2.0
// Which cells of a matrix are slower than others of their kind, and which part explains it. A
// function from numbers to findings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gdrbench::report {

/// A cell below this share of the median of its class is marked.
inline constexpr double kClassFloor = 0.9;
/// Fewer cells make no class: nothing can be said about them.
inline constexpr std::size_t kClassCells = 3;

/// One measured cell.
struct SpeedCell {
  std::size_t source = 0, destination = 0;  ///< places, by number
  std::string kind;                         ///< of memory: "cuda -> cuda"
  std::string link;                         ///< "NV18", "PIX", "SYS, NUMA 0 -> 1"
  double speed = 0;                         ///< more is better
};

/// A part of the machine that is slower than its like.
struct SlowPart {
  std::size_t source = 0, destination = 0;  ///< of a link; the same twice: a place
  bool asSource = false;                    ///< a place: all cells of its row are slow
  bool asDestination = false;               ///< a place: all cells of its column are slow
  double share = 0;                         ///< of the median of its class
  [[nodiscard]] bool isPlace() const { return asSource || asDestination; }
};

struct Judgement {
  /// For each cell that is below its class: its share of the median of the others.
  std::vector<std::optional<double>> below;
  std::vector<SlowPart> parts;  ///< places first; a link only where no place explains it
};

/// Cells of the same kind and link form a class. Each is compared with the median of the others, of
/// which those are left out that a slow place explains: in a small machine they would be the
/// majority.
Judgement judge(std::span<const SpeedCell> cells);

}  // namespace gdrbench::report
