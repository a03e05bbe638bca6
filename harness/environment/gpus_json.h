// SPDX-License-Identifier: Apache-2.0
// An inventory as text, for the pipe from the process that asks NVML. Private to
// harness/environment.
#pragma once

#include <string>
#include <string_view>

#include "harness/environment/gpus.h"

namespace gdrbench {

std::string toJson(const Result<GpuInventory>& gpus);
Result<GpuInventory> gpusFromJson(std::string_view text);

}  // namespace gdrbench
