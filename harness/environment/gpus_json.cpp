// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpus_json.h"

#include "harness/environment/fields_json.h"

namespace gdrbench {

// The fields, once for both directions; found by the types of their arguments.

template <class V>
static void fields(V& v, Gpu& x) {
  v("index", x.index);
  v("pci", x.pci);
  v("problem", x.problem);
  v("name", x.name);
  v("uuid", x.uuid);
  v("memory", x.memoryBytes);
  v("bar1", x.bar1Bytes);
  v("sm_mhz", x.smMHz);
  v("sm_max_mhz", x.smMaxMHz);
  v("memory_mhz", x.memoryMHz);
  v("memory_max_mhz", x.memoryMaxMHz);
  v("ecc", x.ecc);
  v("persistence", x.persistence);
  v("mig", x.mig);
  v("mig_uuids", x.migUuids);
  v("pcie_generation", x.pcieGeneration);
  v("pcie_width", x.pcieWidth);
  v("pcie_max_generation", x.pcieMaxGeneration);
  v("pcie_max_width", x.pcieMaxWidth);
  v("nvlinks", x.nvlinks);
}

template <class V>
static void fields(V& v, GpuPair& x) {
  v("a", x.a);
  v("b", x.b);
  v("nvlinks", x.nvlinks);
  v("route", x.route);
  v("path", x.path);
  v("p2p", x.p2p);
}

template <class V>
static void fields(V& v, GpuInventory& x) {
  v("driver", x.driver);
  v("cuda_driver", x.cudaDriver);
  v("gpus", x.gpus);
  v("pairs", x.pairs);
}

std::string toJson(const Result<GpuInventory>& gpus) {
  return fields_json::answerText(gpus);
}

Result<GpuInventory> gpusFromJson(std::string_view text) {
  return fields_json::answerFrom<GpuInventory>(text, "the GPU query's answer");
}

}  // namespace gdrbench
