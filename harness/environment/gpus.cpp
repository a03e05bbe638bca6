// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/environment/child.h"
#include "harness/environment/gpus_json.h"
#include "harness/environment/nvml.h"
#include "harness/environment/pci_address.h"

namespace gdrbench {

std::string_view name(NvlinkRoute route) {
  constexpr std::array<std::string_view, 4> kNames = {"", "direct", "NVSwitch", "unknown route"};
  return kNames.at(static_cast<std::size_t>(route));
}

const Gpu* GpuInventory::find(std::string_view pciOrUuid) const {
  const auto address = normalisedPciAddress(pciOrUuid);
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return address ? gpu.pci == *address : gpu.uuid.value == pciOrUuid;
  });
  return found == gpus.end() ? nullptr : &*found;
}

const GpuPair* GpuInventory::between(std::string_view a, std::string_view b) const {
  const Gpu* one = find(a);
  const Gpu* other = find(b);
  if (one == nullptr || other == nullptr) return nullptr;
  const auto [low, high] = std::minmax(one->index, other->index);
  const auto found = std::find_if(pairs.begin(), pairs.end(), [low = low, high = high](auto& pair) {
    return pair.a == low && pair.b == high;
  });
  return found == pairs.end() ? nullptr : &*found;
}

std::string pathLabel(const GpuInventory& gpus, const Topology& topology, std::string_view pciA,
                      std::string_view pciB) {
  const GpuPair* pair = gpus.between(pciA, pciB);
  if (pair != nullptr && pair->nvlinks.value.value_or(0) > 0) {
    return fmt::format("NV{}", *pair->nvlinks);
  }
  PathClass path = topology.between(pciA, pciB);
  if (path == PathClass::kUnknown && pair != nullptr) path = pair->path.value.value_or(path);
  return std::string(name(path));
}

Result<GpuInventory> findGpus(std::chrono::milliseconds timeout) {
  const auto text = inChild("find GPUs", timeout, [] {
    auto nvml = openNvml();
    return toJson(nvml ? readGpus(*nvml) : Result<GpuInventory>(nvml.error()));
  });
  if (!text) return text.error();
  return gpusFromJson(*text);
}

}  // namespace gdrbench
