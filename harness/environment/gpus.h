// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine, as the driver's management library (NVML) describes them.
//
// NVML counts GPUs in the order of their PCI addresses and knows nothing of CUDA_VISIBLE_DEVICES:
// its index is not CUDA's. PCI address and UUID are the same in both; find a GPU by these.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/environment/known.h"
#include "harness/environment/topology.h"

namespace gdrbench {

struct Gpu {
  int index = 0;        ///< NVML's
  std::string pci;      ///< "0000:3b:00.0"; empty: unknown
  std::string problem;  ///< why it cannot be asked at all ("GPU is lost"); all else is unknown then
  Known<std::string> name, uuid;
  Known<std::uint64_t> memoryBytes, bar1Bytes;
  Known<int> smMHz, smMaxMHz, memoryMHz, memoryMaxMHz;
  Known<bool> ecc, persistence, mig;
  std::vector<std::string> migUuids;  ///< of its instances
  Known<int> pcieGeneration, pcieWidth, pcieMaxGeneration, pcieMaxWidth;
  Known<int> nvlinks;  ///< active ones

  bool operator==(const Gpu&) const = default;
};

enum class NvlinkRoute { kNone, kDirect, kSwitch, kUnknown };

/// "", "direct", "NVSwitch", "unknown route".
std::string_view name(NvlinkRoute route);

/// Between two GPUs; the same in both orders.
struct GpuPair {
  int a = 0, b = 0;    ///< NVML's indexes, a < b
  Known<int> nvlinks;  ///< that lead from one to the other; behind NVSwitches the smaller count
  NvlinkRoute route = NvlinkRoute::kNone;
  Known<PathClass> path;   ///< of the PCIe path, as the driver sees it
  Known<std::string> p2p;  ///< peer access: "ok", or in NVML's terms why not; "n/a (MIG)"

  bool operator==(const GpuPair&) const = default;
};

struct GpuInventory {
  std::string driver;      ///< "580.159.03"
  std::string cudaDriver;  ///< newest CUDA version that the driver serves: "13.0"
  std::vector<Gpu> gpus;
  std::vector<GpuPair> pairs;

  /// By PCI address in any shape, or UUID; null when there is none.
  [[nodiscard]] const Gpu* find(std::string_view pciOrUuid) const;
  /// By two names as for find(), in either order.
  [[nodiscard]] const GpuPair* between(std::string_view a, std::string_view b) const;

  bool operator==(const GpuInventory&) const = default;
};

/// What nvidia-smi prints in its matrix: "NV18" where NVLinks lead from one to the other, else the
/// PCIe path class - by sysfs, which also knows NICs, or by the driver where sysfs does not know.
std::string pathLabel(const GpuInventory& gpus, const Topology& topology, std::string_view pciA,
                      std::string_view pciB);

/// Asks NVML in a process of its own: with a GPU that fell off the bus it may hang, and no vendor
/// library belongs into the conductor. An inventory with no GPU is an Error as well.
Result<GpuInventory> findGpus(std::chrono::milliseconds timeout = std::chrono::seconds(60));

/// For `list`: one indented line for each GPU (index, name, PCI address, NUMA node, memory, links),
/// or the reason why there are none.
std::string gpuLines(const Result<GpuInventory>& gpus, const Topology& topology);

}  // namespace gdrbench
