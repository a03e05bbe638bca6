// SPDX-License-Identifier: Apache-2.0
// Copies of this process's copy engines, as CUPTI records them. Private to harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

/// `open` is called when the witness begins, and only where this side's memory lies in a GPU.
std::unique_ptr<Witness> copyRecords(const Scene& scene,
                                     std::function<Result<SymbolLookup>()> open);

}  // namespace gdrbench::witness
