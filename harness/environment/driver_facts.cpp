// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <array>
#include <fstream>
#include <set>

#include "harness/core/units.h"
#include "harness/environment/known.h"
#include "harness/environment/machine_facts.h"

namespace gdrbench {
namespace {

/// "580.159.03 open" or "... proprietary": only one of them can export GPU memory as dma-buf.
std::string nvidiaModule(const Roots& roots) {
  const auto line = firstLine(roots.proc / "driver/nvidia/version");
  if (!line) return "not loaded";
  const std::string_view flavour =
      line->find("Open Kernel Module") != std::string::npos ? "open" : "proprietary";
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..."
  const std::size_t module = line->find("Kernel Module");
  const std::size_t digit = module == line->npos ? line->npos : line->find("  ", module);
  if (digit == line->npos) return std::string(flavour);
  const std::size_t start = line->find_first_not_of(' ', digit);
  if (start == line->npos) return std::string(flavour);
  return fmt::format("{} {}", line->substr(start, line->find(' ', start) - start), flavour);
}

/// Which of the modules that let a NIC reach GPU memory are there. What is built into the kernel
/// is not in this list.
std::string loadedModules(const Roots& roots) {
  constexpr std::array<std::string_view, 5> kOfInterest = {"gdrdrv", "ib_uverbs", "nv_peer_mem",
                                                           "nvidia_peermem", "nvidia_uvm"};
  std::ifstream file(roots.proc / "modules");
  if (!file) return unknownText((roots.proc / "modules").string() + " cannot be read");
  std::set<std::string> loaded;
  for (std::string line; std::getline(file, line);) loaded.insert(line.substr(0, line.find(' ')));
  std::vector<std::string_view> found;
  for (const std::string_view each : kOfInterest) {
    if (loaded.contains(std::string(each))) found.push_back(each);
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

std::string rdmaFiles(const Roots& roots) {
  const auto names = namesIn(roots.dev / "infiniband");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// The most memory that this process may pin; registration needs it.
std::string memlock() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return unknownText("getrlimit failed");
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : formatSize(limit.rlim_cur);
}

}  // namespace

Facts driverFacts(const Roots& roots) {
  return {
      {"nvidia module", nvidiaModule(roots)},    // version and flavour
      {"modules loaded", loadedModules(roots)},  // of those that GPUs and RDMA together need
      {"rdma device files", rdmaFiles(roots)},   // /dev/infiniband; absent in many containers
      {"memlock limit", memlock()},
  };
}

}  // namespace gdrbench
