// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "harness/environment/cpu_list.h"
#include "harness/environment/files.h"
#include "harness/environment/pci_address.h"

namespace gdrbench {
namespace fs = std::filesystem;
namespace {

fs::path resolved(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::canonical(path, failed);
  return failed ? fs::path() : real;
}

/// Nearest first by the kernel's distance table, whose columns are the online nodes in order:
/// numbers may have gaps.
std::vector<int> byDistance(const fs::path& nodeFolder, const std::vector<int>& nodes) {
  std::istringstream row(firstLine(nodeFolder / "distance").value_or(""));
  std::vector<std::pair<int, int>> order;
  int distance = 0;
  for (const int node : nodes) {
    if (row >> distance) order.emplace_back(distance, node);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> nearest;
  for (const auto& [far, node] : order) nearest.push_back(node);
  return nearest;
}

}  // namespace

std::string_view name(PathClass path) {
  constexpr std::array<std::string_view, 7> kNames = {"SAME", "PIX", "PXB",    "PHB",
                                                      "NODE", "SYS", "unknown"};
  return kNames.at(static_cast<std::size_t>(path));
}

Topology::Topology(fs::path sys) : sys_(std::move(sys)) {}

fs::path Topology::folder(std::string_view pci) const {
  return sys_ / "bus/pci/devices" / normalisedPciAddress(pci).value_or("none");
}

std::optional<Topology::Place> Topology::placeOf(std::string_view pci) const {
  Place place;
  for (const fs::path& step : resolved(folder(pci))) {
    const std::string word = step.string();
    if (word.starts_with("pci") && word.find(':') != std::string::npos) {
      place = {word, {}};  // some controllers hold a host bridge of their own: the last one counts
    } else if (auto address = normalisedPciAddress(word); address && !place.hostBridge.empty()) {
      place.chain.push_back(*std::move(address));
    }
  }
  if (place.chain.empty()) return std::nullopt;
  return place;
}

PathClass Topology::between(std::string_view pciA, std::string_view pciB) const {
  const auto a = placeOf(pciA);
  const auto b = placeOf(pciB);
  if (!a || !b) return PathClass::kUnknown;
  if (a->hostBridge != b->hostBridge) return acrossBridges(pciA, pciB);
  if (a->chain == b->chain) return PathClass::kSame;
  const auto fork =
      std::mismatch(a->chain.begin(), a->chain.end(), b->chain.begin(), b->chain.end());
  if (fork.first == a->chain.begin()) return PathClass::kPhb;
  // Behind one switch each device has one bridge of its own, the switch's port: more are switches.
  const auto below = std::max(a->chain.end() - fork.first, b->chain.end() - fork.second);
  return below <= 2 ? PathClass::kPix : PathClass::kPxb;
}

PathClass Topology::acrossBridges(std::string_view pciA, std::string_view pciB) const {
  if (numaNodes().size() <= 1) return PathClass::kNode;
  const int a = numaNodeOf(pciA);
  const int b = numaNodeOf(pciB);
  if (a < 0 || b < 0) return PathClass::kUnknown;
  return a == b ? PathClass::kNode : PathClass::kSys;
}

int Topology::numaNodeOf(std::string_view pci) const {
  return static_cast<int>(numberIn(folder(pci) / "numa_node").value_or(-1));
}

std::vector<int> Topology::cpusNear(std::string_view pci) const {
  const auto list = firstLine(folder(pci) / "local_cpulist");
  std::vector<int> cpus = parseCpuList(list.value_or(""));
  return cpus.empty() ? cpusNearNode(numaNodeOf(pci)) : cpus;
}

std::vector<int> Topology::cpusNearNode(int node) const {
  if (node < 0) return {};
  const fs::path nodeFolder = sys_ / fmt::format("devices/system/node/node{}", node);
  for (const int near : byDistance(nodeFolder, numaNodes())) {
    if (std::vector<int> cpus = cpusOfNode(near); !cpus.empty()) return cpus;
  }
  return cpusOfNode(node);
}

std::vector<std::string> Topology::bridgesAbove(std::string_view pci) const {
  const auto place = placeOf(pci);
  if (!place) return {};
  return {place->chain.rbegin() + 1, place->chain.rend()};
}

bool Topology::flat(std::string_view pci) const {
  const auto place = placeOf(pci);
  return place && place->chain.size() == 1;
}

std::string Topology::iommuGroup(std::string_view pci) const {
  const fs::path group = resolved(folder(pci) / "iommu_group");
  if (group.empty()) return "";
  return fmt::format("{} ({})", group.filename().string(), lineText(group / "type"));
}

std::vector<std::string> Topology::devices(std::string_view vendor,
                                           std::string_view classPrefix) const {
  std::vector<std::string> found;
  for (const std::string& pci : namesIn(sys_ / "bus/pci/devices")) {
    if (firstLine(folder(pci) / "vendor") == vendor &&
        firstLine(folder(pci) / "class").value_or("").starts_with(classPrefix)) {
      found.push_back(pci);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Topology::pciOf(const fs::path& underSys) const {
  for (fs::path at = resolved(sys_ / underSys / "device"); at.has_relative_path();
       at = at.parent_path()) {
    if (auto address = normalisedPciAddress(at.filename().string())) return *std::move(address);
  }
  return "";
}

std::vector<int> Topology::numaNodes() const {
  std::vector<int> nodes;
  for (const std::string& each : namesIn(sys_ / "devices/system/node")) {
    if (const auto node = numberAfter("node", each)) nodes.push_back(*node);
  }
  return nodes;
}

std::vector<int> Topology::cpusOfNode(int node) const {
  return parseCpuList(
      firstLine(sys_ / fmt::format("devices/system/node/node{}/cpulist", node)).value_or(""));
}

int Topology::nodeOfCpu(int cpu) const {
  for (const int node : numaNodes()) {
    const std::vector<int> cpus = cpusOfNode(node);
    if (std::binary_search(cpus.begin(), cpus.end(), cpu)) return node;
  }
  return -1;
}

std::string Topology::coreOfCpu(int cpu) const {
  const fs::path topology = sys_ / fmt::format("devices/system/cpu/cpu{}/topology", cpu);
  const auto socket = firstLine(topology / "physical_package_id");
  const auto core = firstLine(topology / "core_id");
  // Core numbers repeat in each die of a socket.
  const auto die = firstLine(topology / "die_id");
  return core ? socket.value_or("") + "/" + die.value_or("") + "/" + *core : "";
}

}  // namespace gdrbench
