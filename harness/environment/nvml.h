// SPDX-License-Identifier: Apache-2.0
// NVML, opened at run time and described by the few declarations needed here: no vendor header is
// needed to build. Tests put functions of their own behind the lookup. For harness/environment, and
// for harness/witness, which reads byte counters in a worker; others take findGpus().
#pragma once

#include <functional>

#include "harness/environment/gpus.h"

namespace gdrbench {

/// The address of a function by its name; null when there is none.
using SymbolLookup = std::function<void*(const char* name)>;

/// libnvidia-ml.so.1 of the driver. Stays loaded. An Error that says so when it is not there.
Result<SymbolLookup> openNvml();

/// Initialises NVML, asks for everything, shuts it down again. What one GPU cannot answer is
/// unknown in its fields; only a driver that cannot be asked at all is an Error.
Result<GpuInventory> readGpus(const SymbolLookup& nvml);

}  // namespace gdrbench
