// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/memory/memory_space.h"

namespace gdrbench {

/// Page-locked host memory, on the NUMA node of a GPU: the one that `name` or `request.peer` names,
/// else the first. Needs a CUDA driver, which locks the pages.
Result<std::unique_ptr<MemorySpace>> openPinnedSpace(const MemoryName& name,
                                                     const MemoryRequest& request);

}  // namespace gdrbench
