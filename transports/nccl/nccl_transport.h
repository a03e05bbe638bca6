// SPDX-License-Identifier: Apache-2.0
// NCCL's point-to-point operations between two ranks, each with a GPU of its own.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench::nccl {

std::unique_ptr<Transport> make();

}  // namespace gdrbench::nccl
