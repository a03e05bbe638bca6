// SPDX-License-Identifier: Apache-2.0
// Rows that differ in nothing but their pair of memory, as a matrix: where the bytes come from in
// rows, where they go in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/report/document.h"
#include "harness/report/matrix_class.h"

namespace gdrbench::report {

struct MatrixCell {
  std::size_t row = 0;                      ///< in Document::rows
  std::size_t source = 0, destination = 0;  ///< in Matrix::places
};

struct Matrix {
  std::vector<std::string> places;  ///< "pinned", "cuda:0", ...
  std::vector<MatrixCell> cells;    ///< those that the document has, failed ones too
};

/// In the order of the document. Two pairs make a matrix; a pair alone is an ordinary row.
std::vector<Matrix> matricesOf(const Document& document);

/// The path between the two ends as a worker reported it; empty where none did.
std::string linkOf(const Row& row);

/// The cells that can be compared, and where each is in `matrix.cells`.
struct MatrixSpeeds {
  std::vector<SpeedCell> cells;
  std::vector<std::size_t> at;
};
MatrixSpeeds speedsOf(const Document& document, const Matrix& matrix);

inline constexpr const char* kBelowClass = "below_class";

/// Puts that mark on rows that are slower than their like, and takes it off others.
void markBelowClass(Document& document);

}  // namespace gdrbench::report
