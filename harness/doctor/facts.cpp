// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>

#include "harness/core/units.h"
#include "harness/doctor/checks.h"

namespace gdrbench::doctor {
namespace {

std::string moduleText(const Inputs& inputs) {
  if (!inputs.module) return "not loaded";
  return inputs.module->version + (inputs.module->open ? " open" : " proprietary");
}

std::string peerModules(const Inputs& inputs) {
  if (!inputs.modules) return unknownText(inputs.modules.why);
  constexpr std::array<const char*, 3> kModules = {"efa_nv_peermem", "nv_peer_mem",
                                                   "nvidia_peermem"};
  std::vector<std::string> found;
  for (const char* each : kModules) {
    if ((*inputs.modules).contains(each)) found.emplace_back(each);
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

std::string yesNo(const Known<bool>& known) {
  if (!known) return unknownText(known.why);
  return *known ? "yes" : "no";
}

std::string sizeText(const Known<std::uint64_t>& bytes) {
  return bytes ? formatSize(*bytes) : unknownText(bytes.why);
}

/// The most that it can do: the speed of an idle link says nothing.
std::string linkText(const Inputs& inputs, const std::string& pci) {
  const PciPlace* place = inputs.place(pci);
  if (place == nullptr || !place->link) return unknownText("no speed in sysfs");
  return fmt::format("x{} of {}", place->link->width,
                     text(PcieLink{place->link->maxSpeedGTs, place->link->maxWidth,
                                   place->link->maxSpeedGTs, place->link->maxWidth}));
}

void addGpu(std::vector<Fact>& facts, const Inputs& inputs, const Gpu& gpu) {
  const std::string key = subjectOf(gpu);
  facts.push_back({key, gpu.problem.empty() ? gpu.name.value.value_or("unnamed") : gpu.problem});
  facts.push_back({key + " link", linkText(inputs, gpu.pci)});
  facts.push_back({key + " BAR1", sizeText(gpu.bar1Bytes)});
  facts.push_back({key + " MIG", yesNo(gpu.mig)});
  if (const CudaDevice* device = inputs.cudaDevice(gpu.pci); device != nullptr) {
    facts.push_back({key + " GPUDirect RDMA", yesNo(device->gpuDirect)});
    facts.push_back({key + " dma-buf", yesNo(device->dmaBuf)});
  }
}

/// "IB/RoCE v1 2, RoCE v2 2": addresses differ between machines, kinds should not.
std::string gidKinds(const Port& port) {
  std::map<std::string, int> kinds;
  for (const Gid& gid : port.gids) ++kinds[gid.type.empty() ? "of unknown type" : gid.type];
  std::vector<std::string> words;
  for (const auto& [type, count] : kinds) words.push_back(fmt::format("{} {}", type, count));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

void addNic(std::vector<Fact>& facts, const Inputs& inputs, const RdmaNic& nic) {
  const std::string key = subjectOf(nic);
  facts.push_back({key, nic.software ? "software" : nic.driver});
  facts.push_back({key + " firmware", nic.firmware});
  facts.push_back({key + " MTU", nic.mtu});
  if (!nic.software) facts.push_back({key + " link", linkText(inputs, nic.nic.pci)});
  for (const Port& port : nic.ports) {
    const std::string at = fmt::format("{} port {}", key, port.number);
    facts.push_back({at, fmt::format("{}, {}, {}", port.state, port.layer, port.rate)});
    facts.push_back({at + " GIDs", gidKinds(port)});
  }
}

void addPaths(std::vector<Fact>& facts, const Inputs& inputs) {
  if (!inputs.gpus) return;
  for (const Gpu& gpu : (*inputs.gpus).gpus) {
    for (const RdmaNic& nic : inputs.rdma) {
      if (nic.software) continue;
      facts.push_back({"path " + pairOf(subjectOf(gpu), subjectOf(nic)),
                       std::string(name(inputs.between(gpu.pci, nic.nic.pci)))});
    }
  }
}

void addSoftware(std::vector<Fact>& facts, const Inputs& inputs) {
  for (const Library& each : inputs.libraries) {
    facts.push_back({"library of " + each.user,
                     each.version ? each.name + " " + *each.version : unknownText("not loaded")});
  }
  for (const Variable& each : inputs.variables) facts.push_back({"env " + each.name, each.value});
}

}  // namespace

std::vector<Fact> comparableFacts(const Inputs& inputs) {
  std::vector<Fact> facts = {
      {"gdrbench", inputs.program},
      {"kernel", inputs.kernel},
      {"nvidia module", moduleText(inputs)},
      {"cuda driver", inputs.cuda ? (*inputs.cuda).version : "none"},
      {"peer memory modules", peerModules(inputs)},
      {"peer memory registered", inputs.memoryPeers.empty()
                                     ? "none"
                                     : fmt::format("{}", fmt::join(inputs.memoryPeers, ", "))},
      {"gpus", inputs.gpus ? std::to_string((*inputs.gpus).gpus.size()) : "none"},
      {"rdma devices", std::to_string(inputs.rdma.size())},
      {"memlock", !inputs.memlock               ? unknownText(inputs.memlock.why)
                  : *inputs.memlock == kNoLimit ? "unlimited"
                                                : formatSize(*inputs.memlock)},
      {"numa balancing", inputs.numaBalancing},
      {"cpu governor", inputs.governor},
  };
  if (inputs.gpus) {
    for (const Gpu& gpu : (*inputs.gpus).gpus) addGpu(facts, inputs, gpu);
  }
  for (const RdmaNic& nic : inputs.rdma) addNic(facts, inputs, nic);
  addPaths(facts, inputs);
  addSoftware(facts, inputs);
  return facts;
}

}  // namespace gdrbench::doctor
