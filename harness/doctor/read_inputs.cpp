// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "harness/doctor/inputs.h"
#include "harness/environment/machine_facts.h"
#include "harness/environment/pci_config.h"
#include "harness/memory/control_group.h"

namespace gdrbench::doctor {
namespace fs = std::filesystem;
namespace {

std::string lineOr(const fs::path& path, std::string otherwise = {}) {
  return firstLine(path).value_or(std::move(otherwise));
}

std::string linkName(const fs::path& link) {
  std::error_code none;
  const fs::path to = fs::read_symlink(link, none);
  return none ? std::string() : to.filename().string();
}

/// "4: ACTIVE" is "ACTIVE".
std::string afterColon(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == line.npos ? line : line.substr(colon + 2);
}

bool isZeroGid(const std::string& gid) {
  return gid.find_first_not_of("0:") == gid.npos;
}

std::vector<Gid> readGids(const fs::path& port) {
  std::vector<Gid> gids;
  for (const std::string& index : namesIn(port / "gids")) {
    const auto number = numberAfter("", index);
    if (!number || isZeroGid(lineOr(port / "gids" / index))) continue;
    gids.push_back({.index = *number,
                    .type = lineOr(port / "gid_attrs/types" / index),
                    .interface = lineOr(port / "gid_attrs/ndevs" / index)});
  }
  return gids;
}

std::vector<Port> readPorts(const fs::path& device) {
  std::vector<Port> ports;
  for (const std::string& each : namesIn(device / "ports")) {
    const fs::path port = device / "ports" / each;
    ports.push_back({.number = numberAfter("", each).value_or(0),
                     .state = afterColon(lineOr(port / "state", "unknown")),
                     .layer = lineOr(port / "link_layer", "unknown"),
                     .rate = lineOr(port / "rate", "unknown"),
                     .gids = readGids(port)});
  }
  return ports;
}

/// Of the kernel's software devices the hardware is a network device's, or nobody's.
bool isSoftware(const Nic& nic, const std::string& description) {
  return nic.pci.empty() || description.starts_with("rxe") ||
         description.starts_with("Software iWARP");
}

/// The device file through which programs reach a device, by the kernel's list of them.
std::string deviceFileOf(const Roots& roots, const std::string& device) {
  const fs::path all = roots.sys / "class/infiniband_verbs";
  for (const std::string& each : namesIn(all)) {
    if (lineOr(all / each / "ibdev") == device) return each;
  }
  return "";
}

RdmaNic readRdmaNic(const Roots& roots, const Topology& topology, const Nic& nic) {
  const fs::path device = roots.sys / "class/infiniband" / nic.name;
  RdmaNic found{.nic = nic,
                .software = isSoftware(nic, lineOr(device / "node_desc")),
                .driver = nic.pci.empty() ? "" : linkName(topology.folder(nic.pci) / "driver"),
                .firmware = lineOr(device / "fw_ver"),
                .deviceFile = deviceFileOf(roots, nic.name),
                .ports = readPorts(device)};
  const fs::path file = roots.dev / "infiniband" / found.deviceFile;
  found.deviceFileHere = !found.deviceFile.empty() && access(file.c_str(), R_OK | W_OK) == 0;
  if (!nic.netdevs.empty()) {
    found.mtu = lineOr(roots.sys / "class/net" / nic.netdevs.front() / "mtu");
  }
  return found;
}

PciPlace readPlace(const Topology& topology, const std::string& pci) {
  const PciConfig config(topology.folder(pci));
  return {.pci = pci,
          .flat = topology.flat(pci),
          .numaNode = topology.numaNodeOf(pci),
          .link = topology.link(pci),
          .acs = acsAbove(pci, topology),
          .iommuGroup = topology.iommuGroup(pci),
          .maxReadRequest = config.maxReadRequest()};
}

void readPlaces(Inputs& inputs, const Topology& topology) {
  std::vector<std::string> all;
  if (inputs.gpus) {
    for (const Gpu& gpu : (*inputs.gpus).gpus) all.push_back(gpu.pci);
  }
  for (const RdmaNic& each : inputs.rdma) all.push_back(each.nic.pci);
  all.erase(std::remove(all.begin(), all.end(), ""), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    inputs.places.push_back(readPlace(topology, all[i]));
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      inputs.paths.push_back({all[i], all[j], topology.between(all[i], all[j])});
    }
  }
}

/// Bit 14 of the effective capabilities lifts the limit on locked memory.
bool mayLockAll(const Roots& roots) {
  constexpr unsigned kIpcLock = 14;
  const auto text = keyedValue(roots.proc / "self/status", "CapEff");
  return text && (std::strtoull(text->c_str(), nullptr, 16) >> kIpcLock & 1U) != 0;
}

/// An overlay as root is how container engines run; a full system seldom does.
bool isContainer(const Roots& roots) {
  std::ifstream file(roots.proc / "self/mounts");
  for (std::string line; std::getline(file, line);) {
    if (line.find(" / overlay ") != line.npos) return true;
  }
  return false;
}

std::string factOf(const Facts& facts, std::string_view key) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == key; });
  return found == facts.end() ? unknownText("not read") : found->second;
}

void readMachine(Inputs& inputs, const Roots& roots) {
  const Facts cpus = cpuFacts(roots, allowedCpus());
  const Facts kernel = kernelFacts(roots);
  inputs.numaBalancing = factOf(kernel, "numa balancing");
  inputs.cpuQuota = factOf(kernel, "cpu quota");
  inputs.governor = factOf(cpus, "cpu governor");
  inputs.virtualMachine = factOf(cpus, "virtual machine");
  inputs.cpusAllowed = factOf(cpus, "cpus allowed");
  inputs.memlock = memlockLimit();
  inputs.mayLockAll = mayLockAll(roots);
  inputs.container = isContainer(roots);
  std::ifstream groups(roots.proc / "self/cgroup");
  const std::string text(std::istreambuf_iterator<char>(groups), {});
  inputs.memoryLeft = leftInControlGroups(roots.sys / "fs/cgroup", text);
}

template <class T>
Known<T> known(const Result<T>& result) {
  if (result) return *result;
  const Error& error = result.error();
  return Known<T>::unknown(error.nativeText.empty() ? error.what() : error.nativeText);
}

}  // namespace

const PciPlace* Inputs::place(std::string_view pci) const {
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const PciPlace& place) { return place.pci == pci; });
  return found == places.end() ? nullptr : &*found;
}

PathClass Inputs::between(std::string_view a, std::string_view b) const {
  for (const Path& each : paths) {
    if ((each.a == a && each.b == b) || (each.a == b && each.b == a)) return each.path;
  }
  return PathClass::kUnknown;
}

const CudaDevice* Inputs::cudaDevice(std::string_view pci) const {
  if (!cuda) return nullptr;
  const auto& devices = (*cuda).devices;
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const CudaDevice& device) { return device.pci == pci; });
  return found == devices.end() ? nullptr : &*found;
}

Inputs readInputs(const Roots& roots, const Result<GpuInventory>& gpus,
                  const Result<CudaFacts>& cuda) {
  const Topology topology(roots.sys);
  Inputs inputs{.host = hostName(),
                .kernel = lineOr(roots.proc / "sys/kernel/osrelease"),
                .module = nvidiaModule(roots),
                .modules = loadedModules(roots),
                .memoryPeers = namesIn(roots.sys / "kernel/mm/memory_peers"),
                .gpusOnBus = topology.devices("0x10de", "0x03"),
                .gpus = known(gpus),
                .cuda = known(cuda)};
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    inputs.visibleDevices = visible;
  }
  for (const Nic& nic : findNics(topology)) {
    if (nic.rdma) {
      inputs.rdma.push_back(readRdmaNic(roots, topology, nic));
    } else {
      inputs.otherNics.push_back(nic.name);
    }
  }
  inputs.connectionManager = access((roots.dev / "infiniband/rdma_cm").c_str(), R_OK | W_OK) == 0;
  readPlaces(inputs, topology);
  readMachine(inputs, roots);
  return inputs;
}

}  // namespace gdrbench::doctor
