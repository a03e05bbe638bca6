// SPDX-License-Identifier: Apache-2.0
// GPU memory over a transport that moves host memory: what a program does that has no direct path.
// A decorator: the options of the case are those of the transport underneath.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench::staged {

/// Of the staging itself: chunk, depth, low_latency.
OptionTable options();

/// `inner`: what the transport underneath can do with the options of the case.
Capabilities capabilities(const Capabilities& inner);

std::unique_ptr<Transport> makeStaged(std::unique_ptr<Transport> inner,
                                      const OptionSet& stagingOptions);

}  // namespace gdrbench::staged
