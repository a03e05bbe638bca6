// SPDX-License-Identifier: Apache-2.0
// Matrices as tables, with what stands below them.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "harness/report/document.h"
#include "harness/report/table.h"

namespace gdrbench::report {

struct MatrixTables {
  std::vector<Table> tables;       ///< the figures; then the links, where they differ
  std::vector<std::string> lines;  ///< what was checked, what failed, which part is slow
};

std::vector<MatrixTables> matrixTablesOf(const Document& document);

/// Rows, by number, that a matrix shows and that nothing is compared with: they need no table of
/// their own. With a second transport over the same pair, pattern and size they stand in both.
std::unordered_set<std::size_t> shownByMatrix(const Document& document);

}  // namespace gdrbench::report
