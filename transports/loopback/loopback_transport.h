// SPDX-License-Identifier: Apache-2.0
// Shared memory between two processes (or two threads) of one host, by CPU copies: the reference
// for what the transport interface means.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench::loopback {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);
std::unique_ptr<Transport> make();

}  // namespace gdrbench::loopback
