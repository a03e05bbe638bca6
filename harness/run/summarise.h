// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/report/document.h"

namespace gdrbench {

/// Recomputes each row's outcome, check, headline and marks from its runs, and the ratios to the
/// document's base. Rows that failed or were skipped take no part in any figure; rounds that the
/// user interrupted take no part in their row. A ratio pairs rows with the same pattern, size,
/// direction, window, batch, memory, path and drive, and compares latencies, so half of a round
/// trip with the whole of an operation that fetches the data.
void summarise(report::Document& document);

}  // namespace gdrbench
