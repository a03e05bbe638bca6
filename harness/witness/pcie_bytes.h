// SPDX-License-Identifier: Apache-2.0
// Bytes that a GPU sent and received over PCIe. Private to harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

class NvmlCounters;

std::unique_ptr<Witness> pcieBytes(const Scene& scene, Result<std::shared_ptr<NvmlCounters>> nvml);

}  // namespace gdrbench::witness
