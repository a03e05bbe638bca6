// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/witness.h"

#include <thread>

#include "harness/witness/copy_mappings.h"
#include "harness/witness/copy_records.h"
#include "harness/witness/cpu_work.h"
#include "harness/witness/cupti.h"
#include "harness/witness/memory_peers.h"
#include "harness/witness/netdev_bytes.h"
#include "harness/witness/nvlink_bytes.h"
#include "harness/witness/nvml_counters.h"
#include "harness/witness/pcie_bytes.h"
#include "harness/witness/port_counters.h"
#include "harness/witness/sources.h"

namespace gdrbench::witness {
namespace {

/// Without GPU memory on this side the driver's library is not even loaded.
Result<std::shared_ptr<NvmlCounters>> openCounters(const Scene& scene, const Sources& sources) {
  if (scene.gpuPci.empty()) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "open the GPU driver's counters",
                 .nativeText = "this side's memory is in the host"};
  }
  auto lookup = sources.openNvml();
  if (!lookup) return lookup.error();
  return NvmlCounters::open(*std::move(lookup));
}

}  // namespace

Sources realSources() {
  Sources sources;
  sources.time.now = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
  };
  sources.time.sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  sources.openNvml = openNvml;
  sources.openCupti = cupti::openLibrary;
  sources.makeWorkMeter = [roots = sources.roots] { return perfWorkMeter(roots); };
  return sources;
}

Witnesses freeWitnesses(const Scene& scene, const Sources& sources) {
  const auto nvml = openCounters(scene, sources);
  Witnesses all;
  all.push_back(memoryPeers(scene, sources.roots));
  all.push_back(copyMappings(scene, sources.roots));
  all.push_back(netdevBytes(scene, sources.roots, sources.time));
  all.push_back(portCounters(scene, sources.roots, sources.time));
  // Last to begin: what comes after it is as little as can be.
  all.push_back(nvlinkBytes(scene, nvml));
  all.push_back(pcieBytes(scene, nvml));
  return all;
}

Witnesses passWitnesses(const Scene& scene, const Sources& sources) {
  Witnesses all;
  all.push_back(copyRecords(scene, sources.openCupti));
  all.push_back(cpuWork(scene, sources.makeWorkMeter()));
  return all;
}

Witnesses freeWitnesses(const Scene& scene) {
  return freeWitnesses(scene, realSources());
}

Witnesses passWitnesses(const Scene& scene) {
  return passWitnesses(scene, realSources());
}

}  // namespace gdrbench::witness
