// SPDX-License-Identifier: Apache-2.0
// What the stored observations say about a row's path. Nothing here measures: any result can be
// judged again, on any machine.
#pragma once

#include <span>
#include <string>

#include "harness/evidence/verdict.h"
#include "harness/report/document.h"

namespace gdrbench::report {

/// The verdict over all good runs of the row, those of the witness pass with each of them.
PathVerdict judgePath(const Row& row, std::span<const Control> controls);

/// The argument for one row: its verdict, and the observations of its last good run and of the
/// witness pass, calibrated by the controls. Lines, each ended by a newline.
std::string explainPath(const Row& row, std::span<const Control> controls);

/// Gives every good row its verdict, by its own document's controls, and the mark "path_differs"
/// where the evidence contradicts what the row was asked to be.
void judgePaths(Document& document);

/// "direct (nvlink)", "staged", "unproved", "n/a"; "-" where nothing was judged.
std::string verdictText(const Row& row);

}  // namespace gdrbench::report
