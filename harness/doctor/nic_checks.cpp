// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/doctor/checks.h"
#include "harness/doctor/link_check.h"

namespace gdrbench::doctor {
namespace {

constexpr About kCount = {"rdma.count", kRdmaGroup, Effect::kNone,
                          "Linux Documentation/ABI/stable/sysfs-class-infiniband"};
constexpr About kManager = {"rdma.connection-manager", kRdmaGroup, Effect::kNone, "rdma_cm(7)"};
constexpr About kFile = {"rdma.device-file", kRdmaGroup, Effect::kDecides,
                         "Linux Documentation/infiniband/user_verbs.rst"};
constexpr About kPort = {"rdma.port", kRdmaGroup, Effect::kDecides,
                         "Linux Documentation/ABI/stable/sysfs-class-infiniband, ports/*/state"};
constexpr About kGid = {"rdma.gid", kRdmaGroup, Effect::kDecides,
                        "Linux Documentation/ABI/stable/sysfs-class-infiniband, gid_attrs/types"};
constexpr About kLink = {"rdma.pcie-link", kRdmaGroup, Effect::kSlows,
                         "PCI Express base specification, 'Link Status Register'"};
constexpr About kReadRequest = {"rdma.max-read-request", kRdmaGroup, Effect::kNone,
                                "PCI Express base specification, 'Device Control Register'"};

bool isUp(const Port& port) {
  return port.state == "ACTIVE";
}

bool hasRoceV2(const Port& port) {
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [](const Gid& gid) { return gid.type == "RoCE v2"; });
}

}  // namespace

std::string subjectOf(const RdmaNic& nic) {
  return nic.nic.name;
}

Check rdmaCountCheck(const Inputs& inputs) {
  if (inputs.rdma.empty()) {
    std::string text = "there is no RDMA device";
    if (!inputs.otherNics.empty()) {
      text += fmt::format("; network devices without RDMA: {}", fmt::join(inputs.otherNics, ", "));
    }
    return report(kCount, "", Level::kFail, text,
                  "an RDMA NIC and its kernel driver are needed for a path from GPU to NIC");
  }
  std::vector<std::string> words;
  for (const RdmaNic& each : inputs.rdma) {
    words.push_back(fmt::format("{} ({})", each.nic.name,
                                each.software         ? "software"
                                : each.driver.empty() ? each.nic.pci
                                                      : each.driver + ", " + each.nic.pci));
  }
  return report(kCount, "", Level::kOk, fmt::format("{}", fmt::join(words, ", ")));
}

Check connectionManagerCheck(const Inputs& inputs) {
  if (inputs.rdma.empty()) {
    return report(kManager, "", Level::kNotApplicable, "there is no RDMA device");
  }
  if (inputs.connectionManager) {
    return report(kManager, "", Level::kOk, "/dev/infiniband/rdma_cm can be opened");
  }
  return report(kManager, "", Level::kWarn,
                "/dev/infiniband/rdma_cm cannot be opened: libraries that connect through the "
                "connection manager fall back or fail",
                "modprobe rdma_ucm; give the container /dev/infiniband");
}

Check deviceFileCheck(const Inputs& inputs, const RdmaNic& nic) {
  if (nic.deviceFile.empty()) {
    return report(kFile, subjectOf(nic), Level::kFail,
                  "the kernel offers no device file for it: ib_uverbs is not loaded, or the device "
                  "belongs to another namespace",
                  "modprobe ib_uverbs");
  }
  const std::string file = "/dev/infiniband/" + nic.deviceFile;
  if (nic.deviceFileHere) {
    return report(kFile, subjectOf(nic), Level::kOk, file + " can be opened");
  }
  return report(
      kFile, subjectOf(nic), Level::kFail,
      fmt::format("the kernel has the device, but {} {}: libraries then quietly take "
                  "TCP",
                  file,
                  inputs.container ? "is not in this container" : "is not there or not permitted"),
      "start the container with --device=/dev/infiniband, or look at the permissions");
}

Check portCheck(const RdmaNic& nic) {
  if (nic.ports.empty()) {
    return report(kPort, subjectOf(nic), Level::kFail, "it has no port in sysfs");
  }
  std::vector<std::string> words;
  for (const Port& port : nic.ports) {
    words.push_back(
        fmt::format("port {}: {}, {}, {}", port.number, port.state, port.layer, port.rate));
  }
  std::string text = fmt::format("{}", fmt::join(words, "; "));
  if (!nic.mtu.empty()) text += fmt::format("; MTU {} of {}", nic.mtu, nic.nic.netdevs.front());
  if (std::any_of(nic.ports.begin(), nic.ports.end(), isUp)) {
    return report(kPort, subjectOf(nic), Level::kOk, text);
  }
  return report(kPort, subjectOf(nic), Level::kFail, text,
                "look at cable, switch and, for InfiniBand, the subnet manager; ip link set up");
}

Check gidCheck(const RdmaNic& nic) {
  bool ethernet = false;
  for (const Port& port : nic.ports) {
    if (port.layer == "Ethernet") {
      ethernet = true;
      if (hasRoceV2(port)) {
        return report(
            kGid, subjectOf(nic), Level::kOk,
            fmt::format("port {}: {} GIDs, RoCE v2 among them", port.number, port.gids.size()));
      }
    } else if (port.gids.empty()) {
      continue;
    } else {
      return report(kGid, subjectOf(nic), Level::kOk,
                    fmt::format("port {}: {} GIDs", port.number, port.gids.size()));
    }
  }
  const bool any = std::any_of(nic.ports.begin(), nic.ports.end(),
                               [](const Port& port) { return !port.gids.empty(); });
  if (any) {
    return report(kGid, subjectOf(nic), Level::kWarn, "the GID table has no entry of RoCE v2",
                  "cma_roce_mode, or the driver's setting, to RoCE v2");
  }
  return report(kGid, subjectOf(nic), Level::kFail, "the GID table is empty",
                ethernet ? "give its network interface an address and set it up"
                         : "the port needs a subnet manager, or the driver has not finished");
}

Check nicLinkCheck(const Inputs& inputs, const RdmaNic& nic) {
  if (nic.software) {
    return report(kLink, subjectOf(nic), Level::kNotApplicable, "a software device");
  }
  const PciPlace* place = inputs.place(nic.nic.pci);
  return linkCheck(kLink, subjectOf(nic), place == nullptr ? std::nullopt : place->link,
                   Idle::kKeepsSpeed);
}

Check maxReadRequestCheck(const Inputs& inputs, const RdmaNic& nic) {
  constexpr int kUsual = 512;
  const PciPlace* place = inputs.place(nic.nic.pci);
  if (nic.software || place == nullptr) {
    return report(kReadRequest, subjectOf(nic), Level::kNotApplicable, "no PCI device");
  }
  if (!place->maxReadRequest) {
    return report(kReadRequest, subjectOf(nic), Level::kUnknown,
                  unknownText(place->maxReadRequest.why), "ask as root");
  }
  const int bytes = *place->maxReadRequest;
  if (bytes >= kUsual) {
    return report(kReadRequest, subjectOf(nic), Level::kOk, fmt::format("{} B", bytes));
  }
  return report(kReadRequest, subjectOf(nic), Level::kWarn,
                fmt::format("{} B: reads are cut into small requests", bytes),
                "set MaxReadReq to 4096 B by setpci or in the firmware");
}

}  // namespace gdrbench::doctor
