// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/doctor/checks.h"

namespace gdrbench::doctor {
namespace {

constexpr About kRegistration = {"path.registration", kPathGroup, Effect::kDecides,
                                 "GPUDirect RDMA documentation, 'Supported Systems'; Linux "
                                 "Documentation/driver-api/dma-buf.rst"};
constexpr About kDistance = {"path.distance", kPathGroup, Effect::kSlows,
                             "GPUDirect RDMA documentation, 'Supported Systems'"};
constexpr About kAcs = {"path.acs", kPathGroup, Effect::kSlows,
                        "PCI Express base specification, 'Access Control Services'; Linux "
                        "Documentation/driver-api/pci/p2pdma.rst"};
constexpr About kIommu = {"path.iommu", kPathGroup, Effect::kSlows,
                          "GPUDirect RDMA documentation, 'IOMMU'; Linux "
                          "Documentation/ABI/testing/sysfs-kernel-iommu_groups"};
constexpr About kPeerAccess = {"path.peer-access", kPathGroup, Effect::kDecides,
                               "CUDA driver API, cuDeviceCanAccessPeer"};
constexpr About kNvlink = {"path.nvlink", kPathGroup, Effect::kSlows,
                           "NVML reference, nvmlDeviceGetNvLinkRemotePciInfo_v2"};

/// One of the two ways in which a NIC gets at a GPU's memory.
struct Way {
  Level level;
  std::string text;
};

/// Drivers of PCI functions whose RDMA part can register dma-buf.
bool importsDmaBuf(const std::string& driver) {
  constexpr std::array<std::string_view, 7> kDrivers = {"mlx5_core", "efa",   "ice", "i40e",
                                                        "bnxt_en",   "ionic", "mana"};
  return std::find(kDrivers.begin(), kDrivers.end(), driver) != kDrivers.end();
}

bool loaded(const Inputs& inputs, const char* module) {
  return inputs.modules && (*inputs.modules).contains(module);
}

Way dmaBufWay(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic) {
  const Check exported = dmaBufCheck(inputs, gpu);
  if (exported.level != Level::kOk) return {exported.level, exported.finding};
  const Check kernel = kernelDmaBufCheck(inputs);
  if (kernel.level == Level::kUnknown) return {kernel.level, kernel.finding};
  if (!importsDmaBuf(nic.driver)) {
    return {Level::kUnknown,
            unknownText(fmt::format("whether driver '{}' imports it", nic.driver))};
  }
  if (kernel.level != Level::kOk) return {Level::kUnknown, unknownText(kernel.finding)};
  return {Level::kOk, fmt::format("the GPU exports it and {} imports it", nic.driver)};
}

Way peerMemoryWay(const Inputs& inputs, const RdmaNic& nic) {
  if (nic.driver == "efa") {
    if (loaded(inputs, "efa_nv_peermem")) return {Level::kOk, "efa_nv_peermem is loaded"};
    if (inputs.modules) return {Level::kFail, "efa_nv_peermem is not loaded"};
  }
  const Check peer = peerMemoryCheck(inputs);
  const bool refuted = peer.level == Level::kWarn || peer.level == Level::kNotApplicable;
  return {refuted ? Level::kFail : peer.level, peer.finding};
}

bool redirects(const PciPlace* place) {
  return place != nullptr && !place->acs.redirecting.empty();
}

/// What CUDA says of two GPUs; nothing where it does not see both.
std::optional<CudaPeers> cudaPeers(const Inputs& inputs, const Gpu& a, const Gpu& b) {
  if (!inputs.cuda) return std::nullopt;
  for (const CudaPeers& each : (*inputs.cuda).peers) {
    if ((each.a == a.pci && each.b == b.pci) || (each.a == b.pci && each.b == a.pci)) return each;
  }
  return std::nullopt;
}

const GpuPair* inventoryPair(const Inputs& inputs, const Gpu& a, const Gpu& b) {
  return inputs.gpus ? (*inputs.gpus).between(a.pci, b.pci) : nullptr;
}

}  // namespace

std::string pairOf(const std::string& a, const std::string& b) {
  return a + " - " + b;
}

Check registrationCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic) {
  const std::string subject = pairOf(subjectOf(gpu), subjectOf(nic));
  if (nic.software) {
    return report(kRegistration, subject, Level::kFail,
                  "a software device: the CPU moves its bytes, and it takes no GPU memory");
  }
  if (const Check direct = gpuDirectCheck(inputs, gpu); direct.level == Level::kFail) {
    return report(kRegistration, subject, Level::kFail, direct.finding, direct.remedy);
  }
  const Way dmaBuf = dmaBufWay(inputs, gpu, nic);
  const Way peer = peerMemoryWay(inputs, nic);
  const std::string both = fmt::format("dma-buf: {}; peer memory: {}", dmaBuf.text, peer.text);
  if (dmaBuf.level == Level::kOk || peer.level == Level::kOk) {
    return report(kRegistration, subject, Level::kOk, both);
  }
  const bool unknown = dmaBuf.level == Level::kUnknown || peer.level == Level::kUnknown;
  return report(kRegistration, subject, unknown ? Level::kUnknown : Level::kFail, both,
                unknown ? "try it: a registration that works is the only proof"
                        : "open kernel modules with Linux 5.12 or newer, or nvidia_peermem that is "
                          "registered");
}

Check distanceCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic) {
  const std::string subject = pairOf(subjectOf(gpu), subjectOf(nic));
  if (nic.software) return report(kDistance, subject, Level::kNotApplicable, "a software device");
  const PathClass path = inputs.between(gpu.pci, nic.nic.pci);
  const PciPlace* place = inputs.place(gpu.pci);
  if (place != nullptr && place->flat) {
    return report(kDistance, subject, Level::kUnknown,
                  unknownText(fmt::format(
                      "{} in a virtual PCI tree, which says nothing of the wires", name(path))),
                  "ask the provider which NIC is near which GPU, or measure all pairs");
  }
  const std::string word(name(path));
  switch (path) {
    case PathClass::kUnknown:
      return report(kDistance, subject, Level::kUnknown, unknownText("sysfs does not place them"));
    case PathClass::kSame:
    case PathClass::kPix:
    case PathClass::kPxb:
      return report(kDistance, subject, Level::kOk, word + ": below one host bridge");
    case PathClass::kPhb:
      return report(kDistance, subject, Level::kWarn, word + ": by way of the CPU's host bridge",
                    "take a NIC behind the same switch as the GPU, if there is one");
    case PathClass::kNode:
    case PathClass::kSys:
      break;
  }
  const char* way = path == PathClass::kSys ? ": by way of the link between sockets"
                                            : ": by way of several host bridges";
  return report(kDistance, subject, Level::kWarn, word + way,
                "take the NIC that is nearest to the GPU");
}

Check acsCheck(const Inputs& inputs, const std::string& pciA, const std::string& pciB,
               const std::string& subject) {
  const PciPlace* a = inputs.place(pciA);
  const PciPlace* b = inputs.place(pciB);
  if (a == nullptr || b == nullptr) {
    return report(kAcs, subject, Level::kNotApplicable, "not on the PCI bus");
  }
  if (redirects(a) || redirects(b)) {
    std::set<std::string> bridges(a->acs.redirecting.begin(), a->acs.redirecting.end());
    bridges.insert(b->acs.redirecting.begin(), b->acs.redirecting.end());
    return report(
        kAcs, subject, Level::kWarn,
        fmt::format("redirect is on at {}: packets between peers go up to the host bridge",
                    fmt::join(bridges, ", ")),
        "turn it off on bare metal, in the firmware or by setpci; in a virtual machine it "
        "must stay on, and address translation by the NIC (ATS) is the remedy");
  }
  const std::string& why = a->acs.why.empty() ? b->acs.why : a->acs.why;
  if (!why.empty()) {
    return report(kAcs, subject, Level::kUnknown, unknownText(why),
                  why == "unprivileged" ? "ask as root" : "");
  }
  return report(kAcs, subject, Level::kOk, "off at every bridge above the two");
}

Check iommuCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic) {
  const std::string subject = pairOf(subjectOf(gpu), subjectOf(nic));
  const PciPlace* place = inputs.place(nic.nic.pci);
  if (nic.software || place == nullptr) {
    return report(kIommu, subject, Level::kNotApplicable, "no PCI device");
  }
  if (place->iommuGroup.empty()) {
    return report(kIommu, subject, Level::kOk, "the NIC is in no IOMMU group");
  }
  if (place->iommuGroup.find("(identity)") != std::string::npos) {
    return report(kIommu, subject, Level::kOk,
                  fmt::format("group {}: addresses are not translated", place->iommuGroup));
  }
  if (place->iommuGroup.find("unknown") != std::string::npos) {
    return report(kIommu, subject, Level::kUnknown, unknownText("group " + place->iommuGroup));
  }
  return report(kIommu, subject, Level::kWarn,
                fmt::format("group {}: the NIC's addresses are translated at the host bridge",
                            place->iommuGroup),
                "boot with iommu=pt on bare metal");
}

Check peerAccessCheck(const Inputs& inputs, const Gpu& a, const Gpu& b) {
  const std::string subject = pairOf(subjectOf(a), subjectOf(b));
  const char* remedy = "look at ACS and IOMMU, and at nvidia-smi topo -p2p rw";
  if (const auto cuda = cudaPeers(inputs, a, b)) {
    if (cuda->forth && cuda->back) {
      return report(kPeerAccess, subject, Level::kOk, "CUDA: each can use the other's memory");
    }
    return report(kPeerAccess, subject, Level::kFail,
                  cuda->forth || cuda->back ? "CUDA: only one of them can use the other's memory"
                                            : "CUDA: neither can use the other's memory",
                  remedy);
  }
  const GpuPair* pair = inventoryPair(inputs, a, b);
  if (pair == nullptr || !pair->p2p) {
    const std::string why = pair == nullptr ? "the driver does not tell" : pair->p2p.why;
    return report(kPeerAccess, subject, Level::kUnknown, unknownText(why));
  }
  if (*pair->p2p == "ok") {
    return report(kPeerAccess, subject, Level::kOk, "the driver: peer access is possible");
  }
  return report(kPeerAccess, subject, Level::kFail, "the driver: " + *pair->p2p, remedy);
}

Check nvlinkCheck(const Inputs& inputs, const Gpu& a, const Gpu& b) {
  const std::string subject = pairOf(subjectOf(a), subjectOf(b));
  const GpuPair* pair = inventoryPair(inputs, a, b);
  const PathClass path = inputs.between(a.pci, b.pci);
  const bool flat = inputs.place(a.pci) != nullptr && inputs.place(a.pci)->flat;
  const std::string pcie = fmt::format("PCIe {}{}", name(path), flat ? " (virtual PCI tree)" : "");
  if (pair == nullptr || !pair->nvlinks) {
    return report(kNvlink, subject, Level::kUnknown,
                  unknownText(pair == nullptr ? "the driver does not tell" : pair->nvlinks.why));
  }
  if (*pair->nvlinks > 0) {
    return report(kNvlink, subject, Level::kOk,
                  fmt::format("{} NVLinks ({}), {}", *pair->nvlinks, name(pair->route), pcie));
  }
  return report(kNvlink, subject, Level::kWarn, "no NVLink leads from one to the other: " + pcie,
                "take a pair with NVLink, if there is one");
}

}  // namespace gdrbench::doctor
