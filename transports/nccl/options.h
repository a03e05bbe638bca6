// SPDX-License-Identifier: Apache-2.0
// What must be known of the nccl transport without its library.
#pragma once

#include <string>
#include <vector>

#include "transports/registry.h"

namespace gdrbench::nccl {

inline constexpr const char* kLibrary = "libnccl.so.2";

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);
/// "nccl", "nccl:registered", "nccl:stream", "nccl:graph", "nccl:non-blocking", "nccl:1-process".
std::string label(const OptionSet& options);
std::vector<EnvironmentSetting> libraryStaged(const OptionSet& options);

}  // namespace gdrbench::nccl
