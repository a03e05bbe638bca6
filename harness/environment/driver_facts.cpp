// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "harness/core/units.h"
#include "harness/environment/driver_state.h"
#include "harness/environment/machine_facts.h"

namespace gdrbench {
namespace {

/// "580.159.03 open" or "... proprietary": only one of them can export GPU memory as dma-buf.
std::string nvidiaModuleText(const Roots& roots) {
  const auto module = nvidiaModule(roots);
  if (!module) return "not loaded";
  const std::string_view flavour = module->open ? "open" : "proprietary";
  if (module->version.empty()) return std::string(flavour);
  return fmt::format("{} {}", module->version, flavour);
}

/// Which of the modules that let a NIC reach GPU memory are there. What is built into the kernel
/// is not in this list.
std::string modulesText(const Roots& roots) {
  constexpr std::array<std::string_view, 5> kOfInterest = {"gdrdrv", "ib_uverbs", "nv_peer_mem",
                                                           "nvidia_peermem", "nvidia_uvm"};
  const auto loaded = loadedModules(roots);
  if (!loaded) return unknownText(loaded.why);
  std::vector<std::string_view> found;
  for (const std::string_view each : kOfInterest) {
    if ((*loaded).contains(std::string(each))) found.push_back(each);
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

std::string rdmaFiles(const Roots& roots) {
  const auto names = namesIn(roots.dev / "infiniband");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string memlockText() {
  const auto limit = memlockLimit();
  if (!limit) return unknownText(limit.why);
  return *limit == kNoLimit ? "unlimited" : formatSize(*limit);
}

}  // namespace

Facts driverFacts(const Roots& roots) {
  return {
      {"nvidia module", nvidiaModuleText(roots)},  // version and flavour
      {"modules loaded", modulesText(roots)},      // of those that GPUs and RDMA together need
      {"rdma device files", rdmaFiles(roots)},     // /dev/infiniband; absent in many containers
      {"memlock limit", memlockText()},
  };
}

}  // namespace gdrbench
