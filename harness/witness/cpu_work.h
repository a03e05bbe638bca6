// SPDX-License-Identifier: Apache-2.0
// Instructions that this process spent on each byte. Private to harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

std::unique_ptr<Witness> cpuWork(const Scene& scene, std::unique_ptr<WorkMeter> meter);

}  // namespace gdrbench::witness
