// SPDX-License-Identifier: Apache-2.0
// Moves nothing and completes at once: what a pattern costs by itself.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench::null {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
std::unique_ptr<Transport> make();

}  // namespace gdrbench::null
