// SPDX-License-Identifier: Apache-2.0
// Ordinary TCP sockets, without a library in between: what the kernel's own path costs.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench::tcp {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);
std::unique_ptr<Transport> make();

}  // namespace gdrbench::tcp
