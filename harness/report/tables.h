// SPDX-License-Identifier: Apache-2.0
// The tables of a report: which rows and columns stand in them, and what the cells say.
#pragma once

#include <string>
#include <vector>

#include "harness/report/document.h"
#include "harness/report/table.h"

namespace gdrbench::report {

/// One for each pattern and direction that occurs, in the order of the document; rows of one size
/// stand together. Rows that a matrix shows (matrix_tables.h) are not among them.
std::vector<Table> tablesOf(const Document& document);

/// What the marks, dashes and units in these tables mean: only those that occur, one a line.
std::vector<std::string> legendOf(const Document& document);

}  // namespace gdrbench::report
