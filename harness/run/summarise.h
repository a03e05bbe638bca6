// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/report/document.h"

namespace gdrbench {

/// Recomputes each row's outcome, check, headline and marks from its runs, and the ratios to the
/// document's base. Rows that failed or were skipped take no part in any figure. A ratio pairs rows
/// with the same pattern, size, direction, window, batch, memory and path.
void summarise(report::Document& document);

}  // namespace gdrbench
