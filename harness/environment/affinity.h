// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/core/result.h"

namespace gdrbench {

/// Lets the calling thread, and the threads that it starts from here on, run on these CPUs only.
/// Not empty.
Status runOnCpus(const std::vector<int>& cpus);

/// Where a vendor library's own threads may run: off the CPUs that poll, as far as there are
/// others.
std::vector<int> cpusBeside(const std::vector<int>& allowed, const std::vector<int>& polling);

}  // namespace gdrbench
