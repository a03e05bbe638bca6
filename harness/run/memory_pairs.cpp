// SPDX-License-Identifier: Apache-2.0
#include "harness/run/memory_pairs.h"

#include <fmt/format.h>

#include "harness/memory/memory_space.h"

namespace gdrbench {
namespace {

constexpr std::string_view kGpuPairs = "gpu-pairs";
constexpr std::string_view kHostGpus = "host-gpus";

MemoryName gpu(int index) {
  return {MemoryKind::kCuda, std::to_string(index)};
}
MemoryName hostNear(int index) {
  return {MemoryKind::kPinned, std::to_string(index)};
}

std::vector<MemoryPair> gpuPairs(int gpus) {
  if (gpus < 2) {
    return {{gpu(0), gpu(1),
             fmt::format("{}: this machine has {}", kGpuPairs,
                         gpus == 0 ? "no NVIDIA GPU" : "one GPU, and a pair needs two")}};
  }
  std::vector<MemoryPair> pairs;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from != to) pairs.push_back({gpu(from), gpu(to), {}});
    }
  }
  return pairs;
}

std::vector<MemoryPair> hostGpus(int gpus) {
  if (gpus == 0) {
    return {{hostNear(0), gpu(0), fmt::format("{}: this machine has no NVIDIA GPU", kHostGpus)}};
  }
  std::vector<MemoryPair> pairs;
  for (int each = 0; each < gpus; ++each) {
    pairs.push_back({hostNear(each), gpu(each), {}});
    pairs.push_back({gpu(each), hostNear(each), {}});
  }
  return pairs;
}

}  // namespace

Result<std::vector<MemoryPair>> memoryPairs(std::string_view source, std::string_view destination,
                                            int gpus) {
  if (source == destination && source == kGpuPairs) return gpuPairs(gpus);
  if (source == destination && source == kHostGpus) return hostGpus(gpus);
  auto from = parseMemoryName(source);
  if (!from) return from.error();
  auto to = parseMemoryName(destination);
  if (!to) return to.error();
  return std::vector<MemoryPair>{{*std::move(from), *std::move(to), {}}};
}

}  // namespace gdrbench
