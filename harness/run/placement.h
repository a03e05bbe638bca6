// SPDX-License-Identifier: Apache-2.0
// Where the two sides of a case are, once the names of their memory are resolved: in a worker,
// since it takes the vendor's libraries to tell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/memory/buffer.h"

namespace gdrbench {

/// What lies between the two, as far as it can be told: "NV18", "PIX", "SYS" between GPUs, "Gen5
/// x16, NUMA node 0" from host memory to a GPU. Nothing for host memory alone.
std::optional<std::string> linkBetween(const MemoryName& source, const MemoryName& destination);

/// PCI address of the GPU that memory is of, or near; empty: none, or it cannot be told.
std::string gpuOf(const MemoryName& memory);

/// Of the pairs that are measured at the same time, this one.
struct PairOfGroup {
  std::size_t number = 0, count = 1;
};

/// CPUs that this pair need not share with others; all where there are too few.
std::vector<int> cpusOfPair(PairOfGroup pair);

/// CPUs of the initiator and of the responder near their GPUs; the same on both sides. Nothing when
/// neither has one. Pairs at the same time get different ones, as far as there are enough.
std::optional<std::pair<int, int>> cpusNear(const MemoryName& source, const MemoryName& destination,
                                            PairOfGroup pair);

}  // namespace gdrbench
