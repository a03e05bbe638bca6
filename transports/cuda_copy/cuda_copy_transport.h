// SPDX-License-Identifier: Apache-2.0
// Copies by the CUDA driver: between the GPUs of one host, and between a GPU and host memory.
#pragma once

#include <memory>
#include <string>

#include "transports/transport.h"

namespace gdrbench::cuda_copy {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
std::string label(const OptionSet& options);
std::unique_ptr<Transport> make();

}  // namespace gdrbench::cuda_copy
