// SPDX-License-Identifier: Apache-2.0
// Everything that the checks look at, as plain data: read once, then judged by pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/doctor/cuda_facts.h"
#include "harness/environment/acs.h"
#include "harness/environment/driver_state.h"
#include "harness/environment/files.h"
#include "harness/environment/gpus.h"
#include "harness/environment/known.h"
#include "harness/environment/nics.h"
#include "harness/environment/topology.h"

namespace gdrbench::doctor {

/// A PCI function and its way to the host bridge.
struct PciPlace {
  std::string pci;
  bool flat = false;  ///< a hypervisor drew the tree
  int numaNode = -1;
  std::optional<PcieLink> link;
  AcsState acs;
  std::string iommuGroup;  ///< "17 (DMA-FQ)"; empty: no IOMMU
  Known<int> maxReadRequest;
};

struct Gid {
  int index = 0;
  std::string type;       ///< "RoCE v2", "IB/RoCE v1"
  std::string interface;  ///< network interface; empty: none
};

struct Port {
  int number = 1;
  std::string state;      ///< "ACTIVE"
  std::string layer;      ///< "Ethernet", "InfiniBand", "Unspecified"
  std::string rate;       ///< "400 Gb/sec (4X NDR)"
  std::vector<Gid> gids;  ///< without empty entries
};

struct RdmaNic {
  Nic nic;
  bool software = false;  ///< the kernel's CPU moves the bytes
  std::string driver;     ///< kernel module of the PCI function; empty: unknown
  std::string firmware;
  std::string deviceFile;       ///< "uverbs0"; empty: the kernel offers none
  bool deviceFileHere = false;  ///< it is in /dev/infiniband and may be opened
  std::vector<Port> ports;
  std::string mtu;  ///< of its first network interface; empty: has none
};

struct Path {
  std::string a, b;  ///< PCI addresses
  PathClass path = PathClass::kUnknown;
};

/// A library that a transport uses, as found in a process of its own.
struct Library {
  std::string user;            ///< the transport
  std::string name;            ///< as people call it
  Known<std::string> version;  ///< unknown: it cannot be loaded, and why
  std::string headers;         ///< version that this program was built with; empty: none needed
  std::string path;
  Known<bool> cuda;                   ///< was built to handle GPU memory
  std::vector<std::string> usable;    ///< providers or devices that open
  std::vector<std::string> unusable;  ///< "efa: why"
};

/// An environment variable that changes the path and is set.
struct Variable {
  std::string name, value;
  bool harmful = false;  ///< this value takes the direct path away
  std::string effect;    ///< what it does then
};

struct Inputs {
  std::string program, host, kernel;  ///< kernel: "6.18.0-amd64"
  std::optional<NvidiaModule> module;
  Known<std::set<std::string>> modules;
  std::vector<std::string> memoryPeers;  ///< in /sys/kernel/mm/memory_peers
  std::vector<std::string> gpusOnBus;    ///< NVIDIA display functions, driver or not
  Known<GpuInventory> gpus;
  Known<CudaFacts> cuda;
  std::optional<std::string> visibleDevices;  ///< CUDA_VISIBLE_DEVICES
  std::vector<RdmaNic> rdma;
  std::vector<std::string> otherNics;  ///< network devices without RDMA, on the PCI bus
  bool connectionManager = false;      ///< /dev/infiniband/rdma_cm
  std::vector<PciPlace> places;
  std::vector<Path> paths;
  Known<std::uint64_t> memlock;
  bool mayLockAll = false;  ///< CAP_IPC_LOCK
  bool container = false;   ///< the root file system is an overlay
  std::string numaBalancing, governor, virtualMachine, cpuQuota, cpusAllowed;
  std::uint64_t memoryLeft = kNoLimit;  ///< of the control groups
  std::vector<Library> libraries;
  std::vector<Variable> variables;

  /// Null where nothing is known.
  [[nodiscard]] const PciPlace* place(std::string_view pci) const;
  [[nodiscard]] PathClass between(std::string_view a, std::string_view b) const;
  [[nodiscard]] const CudaDevice* cudaDevice(std::string_view pci) const;
};

/// `libraries` and `variables` stay empty: only the transports know what to look for.
Inputs readInputs(const Roots& roots, const Result<GpuInventory>& gpus,
                  const Result<CudaFacts>& cuda);

}  // namespace gdrbench::doctor
