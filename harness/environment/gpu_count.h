// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gdrbench {

/// GPUs that a process started here would see, without loading a vendor's library: the entries of
/// `proc` (/proc/driver/nvidia/gpus), fewer when CUDA_VISIBLE_DEVICES names fewer. 0: none.
int visibleGpus(const std::string& proc, std::optional<std::string_view> cudaVisibleDevices);
int visibleGpus();

}  // namespace gdrbench
