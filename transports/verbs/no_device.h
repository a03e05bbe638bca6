// SPDX-License-Identifier: Apache-2.0
// A machine without RDMA devices: saying so, and what to look for.
#pragma once

#include "harness/core/error.h"
#include "transports/verbs/platform.h"

namespace gdrbench::verbs {

/// `code`: errno of the call that lists devices, 0 when it answered an empty list.
Error noDevice(const Platform& platform, int code);

/// Empty when the file cannot be read.
std::string firstLineOf(const std::filesystem::path& path);

}  // namespace gdrbench::verbs
