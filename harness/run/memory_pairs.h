// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// Two GPUs that are not named in the same way (by index, UUID or PCI address), so that nobody can
/// tell by their names whether they are one.
std::optional<std::pair<std::string, std::string>> namedInTwoWays(
    std::span<const MemoryPair> pairs);

/// Rounds of pairs that have no GPU in common, so that they can be used at the same time; each
/// pair, by its number, is in one round. All pairs of n GPUs take n - 1 rounds in each direction (n
/// for an odd n), as in a tournament. Pairs of a round have the same kinds of memory.
std::vector<std::vector<std::size_t>> disjointRounds(std::span<const MemoryPair> pairs);

}  // namespace gdrbench
