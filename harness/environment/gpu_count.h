// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gdrbench {

/// GPUs that a process started here would see, without loading a vendor's library: those in
/// /proc/driver/nvidia/gpus, or in /dev where that folder is not there; fewer when
/// CUDA_VISIBLE_DEVICES names fewer. 0: none. `root` stands before both paths.
int visibleGpus(const std::string& root, std::optional<std::string_view> cudaVisibleDevices);
int visibleGpus();

}  // namespace gdrbench
