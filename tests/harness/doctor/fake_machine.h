// SPDX-License-Identifier: Apache-2.0
// A server of TwoSockets in which all is well, to be spoiled by a test: eight GPUs, four NICs with
// RoCE, open kernel modules.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/checks.h"
#include "harness/doctor/conclusion.h"
#include "harness/doctor/examination.h"
#include "tests/harness/environment/fake_tree.h"

namespace gdrbench::test {

using doctor::Check;
using doctor::Conclusion;
using doctor::CudaFacts;
using doctor::Examination;
using doctor::Inputs;
using doctor::Level;
using doctor::Verdict;

inline Gpu goodGpu(int index, const std::string& pci) {
  Gpu gpu{.index = index, .pci = pci};
  gpu.name = std::string("NVIDIA H200");
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.memoryBytes = std::uint64_t{141} << 30;
  gpu.bar1Bytes = std::uint64_t{256} << 30;
  gpu.mig = false;
  gpu.pcieGeneration = gpu.pcieMaxGeneration = 5;
  gpu.pcieWidth = gpu.pcieMaxWidth = 16;
  gpu.nvlinks = 18;
  return gpu;
}

inline doctor::CudaDevice goodCuda(int ordinal, const std::string& pci) {
  return {.ordinal = ordinal,
          .pci = pci,
          .gpuDirect = true,
          .dmaBuf = true,
          .gpuDirectVmm = true,
          .flushOptions = 1,
          .writesOrdering = 200};
}

inline void addDriver(const FakeTree& tree) {
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build");
  tree.write("proc/modules", "nvidia 1 0 - Live 0x0\nmlx5_ib 1 0 - Live 0x0");
  tree.write("proc/sys/kernel/osrelease", "6.18.0-amd64");
  tree.write("proc/sys/kernel/numa_balancing", "0");
  tree.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1");
}

inline void addNic(const FakeTree& tree, const std::string& name, const std::string& pci,
                   const std::string& driver = "mlx5_core") {
  const std::string device = "sys/class/infiniband/" + name + "/";
  tree.write(device + "fw_ver", "28.39.1002");
  tree.write(device + "node_desc", "host " + name);
  tree.write(device + "ports/1/state", "4: ACTIVE");
  tree.write(device + "ports/1/link_layer", "Ethernet");
  tree.write(device + "ports/1/rate", "400 Gb/sec (4X NDR)");
  tree.write(device + "ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001");
  tree.write(device + "ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0001");
  tree.write(device + "ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000");
  tree.write(device + "ports/1/gid_attrs/types/0", "IB/RoCE v1");
  tree.write(device + "ports/1/gid_attrs/types/1", "RoCE v2");
  const std::string file = "uverbs" + name.substr(name.size() - 1);
  tree.write("sys/class/infiniband_verbs/" + file + "/ibdev", name);
  tree.write("dev/infiniband/" + file, "");
  tree.write("dev/infiniband/rdma_cm", "");
  tree.link(pci, "32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16);
  tree.config(pci, FakeConfig{.readRequestCode = 5}.bytes());
  fs::create_directory_symlink(tree.sys() / "bus/pci/drivers" / driver,
                               tree.sys() / "bus/pci/devices" / pci / "driver");
}

struct FakeMachine {
  TwoSockets tree;
  GpuInventory gpus{.driver = "580.159.03", .cudaDriver = "13.0"};
  CudaFacts cuda{.version = "13.0"};

  FakeMachine() {
    addDriver(tree);
    for (int i = 0; i < 4; ++i) {
      addNic(tree, fmt::format("mlx5_{}", i), fmt::format("0003:{}:02.0", TwoSockets::kBridges[i]));
    }
    for (const std::string& pci : tree.gpus) {
      const int index = static_cast<int>(gpus.gpus.size());
      gpus.gpus.push_back(goodGpu(index, pci));
      cuda.devices.push_back(goodCuda(index, pci));
    }
    addPairs();
    setAcs(0);
  }

  void addPairs() {
    for (int a = 0; a < 8; ++a) {
      for (int b = a + 1; b < 8; ++b) {
        gpus.pairs.push_back({.a = a,
                              .b = b,
                              .nvlinks = 18,
                              .route = NvlinkRoute::kSwitch,
                              .p2p = std::string("ok")});
        cuda.peers.push_back({tree.gpus[static_cast<std::size_t>(a)],
                              tree.gpus[static_cast<std::size_t>(b)], true, true});
      }
    }
  }

  /// Of all bridges. `size`: as much of their configuration space as a reader gets.
  void setAcs(unsigned control, std::size_t size = 4096) const {
    for (const char* bus : TwoSockets::kBridges) {
      for (const std::string& bridge :
           {fmt::format("0000:{}:01.0", bus), fmt::format("0001:{}:00.0", bus),
            fmt::format("0002:{}:00.0", bus), fmt::format("0002:{}:04.0", bus),
            fmt::format("0002:{}:08.0", bus)}) {
        tree.config(bridge, FakeConfig{.acs = true, .acsControl = control, .size = size}.bytes());
      }
    }
  }

  [[nodiscard]] Inputs inputs() const { return doctor::readInputs(tree.roots(), gpus, cuda); }
};

inline Examination examined(const Inputs& inputs, const doctor::Wanted& wanted = {}) {
  auto found = doctor::examine(inputs, wanted);
  if (!found) FAIL(found.error().what());
  return *std::move(found);
}

inline const Check& checkOf(const Examination& examination, std::string_view id,
                            std::string_view subject = {}) {
  const auto found =
      std::find_if(examination.checks.begin(), examination.checks.end(),
                   [&](const Check& each) { return each.id == id && each.subject == subject; });
  if (found == examination.checks.end()) FAIL("no check " << id << " of " << subject);
  return *found;
}

inline const Conclusion& conclusionOf(const Examination& examination, std::string_view subject) {
  const auto found = std::find_if(examination.conclusions.begin(), examination.conclusions.end(),
                                  [&](const Conclusion& each) { return each.subject == subject; });
  if (found == examination.conclusions.end()) FAIL("no conclusion about " << subject);
  return *found;
}

inline bool cites(const Conclusion& conclusion, std::string_view id) {
  const auto& all = conclusion.decidedBy;
  return std::find(all.begin(), all.end(), id) != all.end();
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gdrbench::test
