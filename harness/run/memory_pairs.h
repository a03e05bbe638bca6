// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/memory/buffer.h"

namespace gdrbench {

/// Memory of the initiator and of the responder.
struct MemoryPair {
  MemoryName source, destination;
  std::optional<std::string> problem;  ///< why it cannot be had here
};

/// One entry of `memory:` as explicit pairs. "gpu-pairs": every ordered pair of this host's GPUs;
/// "host-gpus": page-locked host memory to each GPU and back. Where there are too few GPUs for one,
/// a single pair stands for all, with the problem.
Result<std::vector<MemoryPair>> memoryPairs(std::string_view source, std::string_view destination,
                                            int gpus);

}  // namespace gdrbench
