// SPDX-License-Identifier: Apache-2.0
// What must be known of this transport without loading libfabric.
#pragma once

#include <string>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/capabilities.h"

namespace gdrbench::libfabric {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);

/// "libfabric:tcp", "libfabric:shm/read".
std::string label(const OptionSet& options);

}  // namespace gdrbench::libfabric
