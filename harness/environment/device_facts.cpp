// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/environment/acs.h"
#include "harness/environment/cpu_list.h"
#include "harness/environment/known.h"
#include "harness/environment/machine_facts.h"
#include "harness/environment/pci_config.h"

namespace gdrbench {
namespace {

template <class T>
std::string words(const Known<T>& known, std::string_view unit = "") {
  return known ? fmt::format("{}{}", *known, unit) : unknownText(known.why);
}

std::string onOff(const Known<bool>& known) {
  if (!known) return unknownText(known.why);
  return *known ? "on" : "off";
}

std::string gibibytes(const Known<std::uint64_t>& bytes) {
  if (!bytes) return unknownText(bytes.why);
  return fmt::format("{:.1f} GiB", static_cast<double>(*bytes) / (1024.0 * 1024.0 * 1024.0));
}

std::string clockText(const Known<int>& now, const Known<int>& most) {
  return fmt::format("{} of {}", words(now), words(most, " MHz"));
}

std::string numaText(std::string_view pci, const Topology& topology) {
  const int node = topology.numaNodeOf(pci);
  return node < 0 ? "NUMA unknown" : fmt::format("NUMA {}", node);
}

std::string acsText(std::string_view pci, const Topology& topology) {
  const AcsState acs = acsAbove(pci, topology);
  if (!acs.redirecting.empty()) return fmt::format("on at {}", fmt::join(acs.redirecting, " "));
  return acs.why.empty() ? "off" : unknownText(acs.why);
}

std::string orNone(const std::string& text) {
  return text.empty() ? "none" : text;
}

void addGpu(Facts& facts, const Gpu& gpu, const Topology& topology) {
  const std::string key = fmt::format("gpu {}", gpu.index);
  if (!gpu.problem.empty()) {
    facts.emplace_back(key, unknownText(gpu.problem));
    return;
  }
  facts.emplace_back(key, fmt::format("{}, {}, {}, {}, BAR1 {}", words(gpu.name), words(gpu.uuid),
                                      gpu.pci.empty() ? "PCI address unknown" : gpu.pci,
                                      gibibytes(gpu.memoryBytes), gibibytes(gpu.bar1Bytes)));
  std::string modes = fmt::format("ECC {}, persistence {}, MIG {}", onOff(gpu.ecc),
                                  onOff(gpu.persistence), onOff(gpu.mig));
  if (!gpu.migUuids.empty()) modes += fmt::format(" ({})", fmt::join(gpu.migUuids, " "));
  facts.emplace_back(key + " modes", modes);
  facts.emplace_back(key + " clocks",
                     fmt::format("SM {}, memory {}", clockText(gpu.smMHz, gpu.smMaxMHz),
                                 clockText(gpu.memoryMHz, gpu.memoryMaxMHz)));
  // As the driver says, which also knows where sysfs shows a virtual port. Idle links are slow.
  facts.emplace_back(
      key + " pcie link",
      fmt::format("Gen{} x{} of Gen{} x{}", words(gpu.pcieGeneration), words(gpu.pcieWidth),
                  words(gpu.pcieMaxGeneration), words(gpu.pcieMaxWidth)));
  facts.emplace_back(key + " nvlinks", words(gpu.nvlinks));
  facts.emplace_back(key + " pci", pciText(gpu.pci, topology));
}

struct Device {
  std::string label;
  std::string pci;
};

std::vector<Device> devicesOf(const GpuInventory& gpus, const std::vector<Nic>& nics) {
  std::vector<Device> devices;
  for (const Gpu& gpu : gpus.gpus) {
    if (!gpu.pci.empty()) devices.push_back({fmt::format("gpu {}", gpu.index), gpu.pci});
  }
  for (const Nic& nic : nics) {
    if (!nic.pci.empty()) devices.push_back({nic.name, nic.pci});
  }
  return devices;
}

/// "NV18 NVSwitch P2P ok", "PIX P2P chipset not supported", "SYS".
std::string pathTo(const GpuInventory& gpus, const Topology& topology, const Device& from,
                   const Device& to) {
  std::string text = pathLabel(gpus, topology, from.pci, to.pci);
  const GpuPair* pair = gpus.between(from.pci, to.pci);
  if (pair == nullptr) return text;
  if (pair->nvlinks.value.value_or(0) > 0) text += fmt::format(" {}", name(pair->route));
  return text + " P2P " + words(pair->p2p);
}

/// GPUs on the bus that no driver answers for: the first thing to look at.
std::string withoutDriver(const Error& error, const Topology& topology) {
  std::string text = error.nativeText;
  if (!error.next.empty()) text += "; " + error.next;
  const auto onBus = topology.devices("0x10de", "0x03");
  if (!onBus.empty()) text += fmt::format("; on the PCI bus: {}", fmt::join(onBus, ", "));
  return text;
}

std::string linksText(const Gpu& gpu) {
  if (!gpu.nvlinks) return "NVLinks " + unknownText(gpu.nvlinks.why);
  return *gpu.nvlinks == 0 ? "no NVLink" : fmt::format("{} NVLinks", *gpu.nvlinks);
}

}  // namespace

std::string gpuLines(const Result<GpuInventory>& gpus, const Topology& topology) {
  if (!gpus) return fmt::format("    none: {}\n", withoutDriver(gpus.error(), topology));
  std::string lines;
  for (const Gpu& gpu : gpus->gpus) {
    const std::string what =
        gpu.problem.empty()
            ? fmt::format("{}  {}  {}  {}  {}{}", words(gpu.name), gpu.pci,
                          numaText(gpu.pci, topology), gibibytes(gpu.memoryBytes), linksText(gpu),
                          gpu.mig.value.value_or(false) ? "  MIG (not supported)" : "")
            : "cannot be used: " + gpu.problem;
    lines += fmt::format("    {:<3} {}\n", gpu.index, what);
  }
  return lines;
}

std::string pciText(std::string_view pci, const Topology& topology) {
  const PciConfig config(topology.folder(pci));
  const auto link = topology.link(pci);
  const std::string cpus = cpuListText(topology.cpusNear(pci));
  return fmt::format("{}, CPUs {}, link {}, MaxReadReq {}, MaxPayload {}, ACS {}, IOMMU group {}",
                     numaText(pci, topology), cpus.empty() ? "unknown" : cpus,
                     link ? text(*link) : unknownText("no speed in sysfs"),
                     words(config.maxReadRequest(), " B"), words(config.maxPayload(), " B"),
                     acsText(pci, topology), orNone(topology.iommuGroup(pci)));
}

Facts gpuFacts(const Result<GpuInventory>& gpus, const Topology& topology) {
  if (!gpus) return {{"gpus", unknownText(withoutDriver(gpus.error(), topology))}};
  Facts facts{
      {"gpus", std::to_string(gpus->gpus.size())},
      {"gpu driver", gpus->driver},
      {"cuda driver", gpus->cudaDriver},  // newest CUDA version that the driver serves
  };
  for (const Gpu& gpu : gpus->gpus) addGpu(facts, gpu, topology);
  return facts;
}

Facts nicFacts(const std::vector<Nic>& nics, const Topology& topology) {
  Facts facts;
  for (const Nic& nic : nics) {
    std::string what = nic.rdma ? "RDMA" : "no RDMA";
    if (nic.rdma && !nic.netdevs.empty()) what += fmt::format(" ({})", fmt::join(nic.netdevs, " "));
    facts.emplace_back("nic " + nic.name,
                       nic.pci.empty()
                           ? what + ", software"
                           : fmt::format("{}, {}, {}", what, nic.pci, pciText(nic.pci, topology)));
  }
  return facts;
}

Facts pathFacts(const GpuInventory& gpus, const std::vector<Nic>& nics, const Topology& topology) {
  const std::vector<Device> devices = devicesOf(gpus, nics);
  Facts facts;
  for (std::size_t i = 0; i + 1 < devices.size(); ++i) {
    std::vector<std::string> row;
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      row.push_back(
          fmt::format("{} {}", devices[j].label, pathTo(gpus, topology, devices[i], devices[j])));
    }
    std::string value = fmt::format("{}", fmt::join(row, ", "));
    // A hypervisor's flat tree puts everything at the same distance.
    if (topology.flat(devices[i].pci)) value += " (virtual PCI tree)";
    facts.emplace_back("path " + devices[i].label, std::move(value));
  }
  return facts;
}

}  // namespace gdrbench
