// SPDX-License-Identifier: Apache-2.0
#include "harness/run/placement.h"

#include <fmt/format.h>

#include <vector>

#include "harness/cuda/device.h"
#include "harness/environment/environment.h"
#include "harness/environment/gpus.h"
#include "harness/environment/nvml.h"
#include "harness/environment/topology.h"

namespace gdrbench {
namespace {

std::string hostLink(const std::string& gpu) {
  const Topology topology;
  const auto link = topology.link(gpu);
  const int node = topology.numaNodeOf(gpu);
  return fmt::format("{}{}", link ? text(*link) : "PCIe unknown",
                     node < 0 ? std::string() : fmt::format(", NUMA node {}", node));
}

/// Without an answer about NVLinks the PCIe path is not what lies between two GPUs.
std::string gpuLink(const std::string& from, const std::string& to) {
  const auto nvml = openNvml();
  if (!nvml) return fmt::format("unknown ({})", nvml.error().what());
  const auto gpus = readGpus(*nvml);
  if (!gpus) return fmt::format("unknown ({})", gpus.error().what());
  const GpuPair* pair = gpus->between(from, to);
  if (pair == nullptr) return fmt::format("unknown (NVML does not list {} and {})", from, to);
  if (!pair->nvlinks.value) return fmt::format("unknown (NVLinks: {})", pair->nvlinks.why);
  return pathLabel(*gpus, Topology(), from, to);
}

}  // namespace

std::string gpuOf(const MemoryName& memory) {
  if (memory.kind == MemoryKind::kHost || memory.device.empty()) return {};
  const auto identity = cuda::identify(memory.device);
  return identity ? identity->pci : std::string();
}

std::optional<std::string> linkBetween(const MemoryName& source, const MemoryName& destination) {
  const bool sourceOnGpu = source.kind == MemoryKind::kCuda;
  const bool destinationOnGpu = destination.kind == MemoryKind::kCuda;
  if (!sourceOnGpu && !destinationOnGpu) return {};
  const std::string from = gpuOf(source);
  const std::string to = gpuOf(destination);
  if (!sourceOnGpu) return hostLink(to);
  if (!destinationOnGpu) return hostLink(from);
  return from == to ? "same GPU" : gpuLink(from, to);
}

std::vector<int> cpusOfPair(PairOfGroup pair) {
  const std::vector<int> allowed = allowedCpus();
  const std::vector<int> own = dealtCpus(allowed, Topology(), pair.number, pair.count);
  return own.empty() ? allowed : own;
}

std::optional<std::pair<int, int>> cpusNear(const MemoryName& source, const MemoryName& destination,
                                            PairOfGroup pair) {
  const std::string from = gpuOf(source);
  const std::string to = gpuOf(destination);
  if (from.empty() && to.empty()) return {};
  return chooseCpuPair(cpusOfPair(pair), Topology(), from, to);
}

}  // namespace gdrbench
