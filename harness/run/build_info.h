// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gdrbench {

/// "0.1.0".
std::string version();

/// Version, source revision and compiler: the two sides of a run must have the same.
std::string buildId();

}  // namespace gdrbench
