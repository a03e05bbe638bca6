// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/memory/memory_space.h"

namespace gdrbench {

/// Memory of one GPU: filled, poisoned and checked by kernels on that GPU. Allocations are
/// multiples of 2 MiB. Errors: no driver, no such GPU, more than is free there, with the figures.
Result<std::unique_ptr<MemorySpace>> openCudaSpace(const MemoryName& name,
                                                   const MemoryRequest& request);

}  // namespace gdrbench
