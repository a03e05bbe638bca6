// SPDX-License-Identifier: Apache-2.0
// Where devices sit: the PCI tree, NUMA nodes and their CPUs, read from sysfs. All PCI addresses
// may come in any of the shapes of pci_address.h. Reads happen at each call: nothing here is hot.
//
// In a virtual machine the tree is the hypervisor's drawing, not the machine's: see flat().
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gdrbench {

/// How far two PCI devices are from each other, in the words of `nvidia-smi topo`.
enum class PathClass {
  kSame,  ///< one device
  kPix,   ///< at most one PCIe switch between them
  kPxb,   ///< several switches, without the CPU's host bridge
  kPhb,   ///< through a host bridge
  kNode,  ///< several host bridges of one NUMA node
  kSys,   ///< between NUMA nodes
  kUnknown
};

/// "SAME", "PIX", "PXB", "PHB", "NODE", "SYS", "unknown".
std::string_view name(PathClass path);

/// A PCIe link as it is, and the most that both of its ends can do. GPUs lower the speed of an idle
/// link, so a low speed says little while nothing runs; a low width is always a fault.
struct PcieLink {
  double speedGTs = 0;  ///< per lane: 2.5, 5, 8, 16, 32, 64
  int width = 0;        ///< lanes
  double maxSpeedGTs = 0;
  int maxWidth = 0;

  [[nodiscard]] bool belowMax() const { return speedGTs < maxSpeedGTs || width < maxWidth; }
  /// After line coding (8b/10b, 128b/130b, 242/256 flits), before packet headers: an upper bound.
  [[nodiscard]] double bytesPerSecond() const;
  [[nodiscard]] double maxBytesPerSecond() const;
};

/// "Gen5 x16" or, below its maximum, "Gen4 x8 of Gen5 x16".
std::string text(const PcieLink& link);

class Topology {
 public:
  explicit Topology(std::filesystem::path sys = "/sys");

  [[nodiscard]] PathClass between(std::string_view pciA, std::string_view pciB) const;

  /// -1: unknown, which is also what the kernel says where there is only one node.
  [[nodiscard]] int numaNodeOf(std::string_view pci) const;

  /// The CPUs that the kernel calls local; those of the nearest node that has CPUs where the
  /// device's own has only memory. Empty: unknown.
  [[nodiscard]] std::vector<int> cpusNear(std::string_view pci) const;

  /// Nothing where the device has no PCIe link, or a virtual one that tells no speed.
  [[nodiscard]] std::optional<PcieLink> link(std::string_view pci) const;

  /// The bridges from the device up to its root port, nearest first.
  [[nodiscard]] std::vector<std::string> bridgesAbove(std::string_view pci) const;

  /// The device hangs on the host bridge itself, without a root port. Plug-in devices never do on
  /// real machines: a hypervisor drew this tree, and PHB or NODE then say nothing of the wires.
  [[nodiscard]] bool flat(std::string_view pci) const;

  /// "17 (DMA-FQ)": the group and how its addresses are translated; empty without an IOMMU.
  [[nodiscard]] std::string iommuGroup(std::string_view pci) const;

  /// PCI functions with this vendor whose class begins with `classPrefix` ("0x03": display).
  [[nodiscard]] std::vector<std::string> devices(std::string_view vendor,
                                                 std::string_view classPrefix) const;

  /// The PCI function that a device of any class belongs to ("class/net/eth0"); empty when it
  /// belongs to none.
  [[nodiscard]] std::string pciOf(const std::filesystem::path& underSys) const;

  /// /sys/bus/pci/devices/<address>, whether it is there or not.
  [[nodiscard]] std::filesystem::path folder(std::string_view pci) const;

  [[nodiscard]] std::vector<int> numaNodes() const;
  [[nodiscard]] std::vector<int> cpusOfNode(int node) const;
  [[nodiscard]] int nodeOfCpu(int cpu) const;
  /// Socket and core, the same for two hardware threads of one core; empty: unknown.
  [[nodiscard]] std::string coreOfCpu(int cpu) const;

  [[nodiscard]] const std::filesystem::path& sys() const { return sys_; }

 private:
  /// Host bridge, then the PCI functions from the root bus down to the device.
  struct Place {
    std::string hostBridge;
    std::vector<std::string> chain;
  };
  [[nodiscard]] std::optional<Place> placeOf(std::string_view pci) const;
  [[nodiscard]] PathClass acrossBridges(std::string_view pciA, std::string_view pciB) const;
  [[nodiscard]] std::vector<int> cpusNearNode(int node) const;

  std::filesystem::path sys_;
};

}  // namespace gdrbench
