// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "harness/environment/machine_facts.h"
#include "harness/environment/nvml.h"
#include "tests/harness/environment/fake_nvml.h"
#include "tests/harness/environment/fake_tree.h"

using namespace gdrbench;
using test::FakeConfig;
using test::FakeNvml;
using test::FakeTree;
using test::switched;
using test::TwoSockets;

namespace {

std::string at(const Facts& facts, std::string_view key) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == key; });
  return found == facts.end() ? "no such fact" : found->second;
}

FakeTree& withCpus(FakeTree& tree) {
  const std::string cpus = "sys/devices/system/cpu/";
  for (int cpu = 0; cpu < 3; ++cpu) {
    tree.write(cpus + fmt::format("cpu{}/cpufreq/scaling_governor", cpu), "performance");
    tree.write(cpus + fmt::format("cpu{}/cpufreq/scaling_driver", cpu), "intel_cpufreq");
  }
  tree.write(cpus + "online", "0-3");
  tree.write(cpus + "isolated", "");
  tree.write(cpus + "smt/control", "off");
  tree.write(cpus + "intel_pstate/status", "passive");
  tree.write(cpus + "intel_pstate/no_turbo", "1");
  tree.write(cpus + "cpuidle/current_driver", "intel_idle");
  tree.write("sys/module/intel_idle/parameters/max_cstate", "9");
  const std::array names = {"POLL", "C1", "C1E", "C6"};
  const std::array exits = {0, 1, 4, 170};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string state = cpus + fmt::format("cpu0/cpuidle/state{}/", i);
    tree.write(state + "name", names[i]);
    tree.write(state + "latency", std::to_string(exits[i]));
    tree.write(state + "disable", "0");
  }
  tree.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu vme");
  return tree;
}

}  // namespace

TEST_CASE("processor and its tunables") {
  FakeTree tree;
  withCpus(tree);
  Facts facts = cpuFacts(tree.roots(), {0, 1, 2});
  CHECK(at(facts, "cpu") == "A CPU");
  CHECK(at(facts, "virtual machine") == "no");
  CHECK(at(facts, "cpus online") == "0-3");
  CHECK(at(facts, "cpus allowed") == "0-2");
  CHECK(at(facts, "cpus isolated") == "none");
  CHECK(at(facts, "smt") == "off");
  CHECK(at(facts, "cpu governor") == "performance");
  CHECK(at(facts, "cpu frequency driver") == "intel_cpufreq");
  CHECK(at(facts, "cpu pstate") == "intel_pstate passive");
  CHECK(at(facts, "cpu turbo") == "off");
  CHECK(at(facts, "cpu sleep exit") == "170 us (C6; 4 of 4 states enabled)");
  CHECK(at(facts, "cpu idle driver") == "intel_idle, intel_idle.max_cstate 9");

  tree.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  tree.write("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "1");
  tree.write("proc/cpuinfo", "flags : fpu hypervisor vme");
  facts = cpuFacts(tree.roots(), {0, 1, 2});
  CHECK(at(facts, "cpu governor") == "performance (2 CPUs), powersave (1 CPUs)");
  CHECK(at(facts, "cpu sleep exit") == "4 us (C1E; 3 of 4 states enabled)");
  CHECK(at(facts, "virtual machine") == "yes");
  CHECK(at(facts, "cpu").starts_with("unknown (no 'model name' in "));
}

TEST_CASE("AMD's driver has files of its own") {
  FakeTree tree;
  tree.write("sys/devices/system/cpu/amd_pstate/status", "active");
  tree.write("sys/devices/system/cpu/cpufreq/boost", "1");
  const Facts facts = cpuFacts(tree.roots(), {0});
  CHECK(at(facts, "cpu pstate") == "amd_pstate active");
  CHECK(at(facts, "cpu turbo") == "on");
}

TEST_CASE("nothing readable: every fact says so, and none is missing") {
  const FakeTree tree;
  const Facts cpu = cpuFacts(tree.roots(), {0});
  CHECK(cpu.size() == 13);
  CHECK(at(cpu, "cpu governor").starts_with("unknown ("));
  CHECK(at(cpu, "cpu sleep exit").starts_with("unknown ("));
  CHECK(at(cpu, "cpu pstate") == "none");
  const Facts kernel = kernelFacts(tree.roots());
  CHECK(kernel.size() == 8);
  CHECK(at(kernel, "memory").starts_with("unknown (no 'MemTotal'"));
  CHECK(at(kernel, "numa nodes").starts_with("unknown ("));
  CHECK(at(kernel, "iommu") == "none (no groups)");
  CHECK(at(kernel, "iommu boot words").starts_with("unknown ("));
  const Facts driver = driverFacts(tree.roots());
  CHECK(at(driver, "nvidia module") == "not loaded");
  CHECK(at(driver, "modules loaded").starts_with("unknown ("));
  CHECK(at(driver, "rdma device files") == "none");
  CHECK(pciText("3b:00.0", Topology(tree.sys())) ==
        "NUMA unknown, CPUs unknown, link unknown (no speed in sysfs), MaxReadReq unknown "
        "(configuration space cannot be read), MaxPayload unknown (configuration space cannot be "
        "read), ACS unknown (not in sysfs), IOMMU group none");
}

TEST_CASE("kernel and its tunables, of the command line nothing but the words about the IOMMU") {
  FakeTree tree;
  tree.write("proc/cmdline", "root=/dev/sda1 secret=1 iommu=pt intel_iommu=on xiommu=no quiet");
  tree.write("proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB");
  tree.write("proc/self/status", "Mems_allowed:\t3\nMems_allowed_list:\t0-1");
  tree.write("proc/sys/kernel/numa_balancing", "1");
  tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  tree.write("sys/kernel/iommu_groups/0/type", "identity");
  tree.write("sys/kernel/iommu_groups/1/type", "DMA-FQ");
  tree.write("sys/kernel/iommu_groups/2/type", "identity");
  tree.write("sys/fs/cgroup/cpu.max", "150000 100000");
  tree.node(0, "0-3", "10 20");
  tree.node(2, "", "20 10");
  Facts facts = kernelFacts(tree.roots());
  CHECK(at(facts, "iommu boot words") == "iommu=pt intel_iommu=on");
  CHECK(at(facts, "memory") == "2.0 GiB");
  CHECK(at(facts, "numa nodes") == "2, without CPUs: 2");
  CHECK(at(facts, "numa nodes allowed") == "0-1");
  CHECK(at(facts, "numa balancing") == "1");
  CHECK(at(facts, "transparent huge pages") == "madvise");
  CHECK(at(facts, "iommu") == "3 groups: DMA-FQ 1, identity 2");
  CHECK(at(facts, "cpu quota") == "1.5 CPUs");
  tree.write("proc/cmdline", "quiet");
  tree.write("sys/fs/cgroup/cpu.max", "max 100000");
  facts = kernelFacts(tree.roots());
  CHECK(at(facts, "iommu boot words") == "none");
  CHECK(at(facts, "cpu quota") == "none");
}

TEST_CASE("drivers: flavour of the kernel module, modules, device files") {
  FakeTree tree;
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build");
  tree.write("proc/modules", "nvidia_peermem 16384 0 - Live 0x0\nnvidia_uvm 1 2 -\next4 1 2 -");
  tree.write("dev/infiniband/rdma_cm", "");
  tree.write("dev/infiniband/uverbs0", "");
  Facts facts = driverFacts(tree.roots());
  CHECK(at(facts, "nvidia module") == "580.159.03 open");
  CHECK(at(facts, "modules loaded") == "nvidia_peermem, nvidia_uvm");
  CHECK(at(facts, "rdma device files") == "rdma_cm, uverbs0");
  CHECK(at(facts, "memlock limit") != "no such fact");
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 2023");
  CHECK(at(driverFacts(tree.roots()), "nvidia module") == "535.104.05 proprietary");
  tree.write("proc/driver/nvidia/version", "something else");
  CHECK(at(driverFacts(tree.roots()), "nvidia module") == "proprietary");
}

TEST_CASE("GPUs, NICs and the paths between them, on two sockets") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  FakeNvml nvml;
  for (const std::string& pci : machine.gpus) {
    nvml.gpus.push_back({.pci = pci, .uuid = "GPU-" + pci, .links = switched(18)});
  }
  nvml.gpus[7].lost = true;
  nvml.gpus[1].mig = 1;
  nvml.gpus[1].instances = {"MIG-1", "MIG-2"};
  const auto gpus = readGpus(nvml.lookup());
  REQUIRE(gpus.ok());
  const std::vector<Nic> nics = findNics(topology);
  const Facts facts = gpuFacts(gpus, topology);
  CHECK(at(facts, "gpus") == "8");
  CHECK(at(facts, "gpu driver") == "580.159.03");
  CHECK(at(facts, "cuda driver") == "13.1");
  CHECK(at(facts, "gpu 0") ==
        "NVIDIA H200, GPU-0003:1a:00.0, 0003:1a:00.0, 140.4 GiB, BAR1 256.0 GiB");
  CHECK(at(facts, "gpu 0 modes") == "ECC on, persistence on, MIG off");
  CHECK(at(facts, "gpu 1 modes") == "ECC on, persistence on, MIG on (MIG-1 MIG-2)");
  CHECK(at(facts, "gpu 0 clocks") == "SM 345 of 1980 MHz, memory 3201 of 3201 MHz");
  CHECK(at(facts, "gpu 0 pcie link") == "Gen5 x16 of Gen5 x16");
  CHECK(at(facts, "gpu 0 nvlinks") == "18");
  CHECK(at(facts, "gpu 0 pci").starts_with("NUMA 0, CPUs 0-7, "));
  CHECK(at(facts, "gpu 6 pci").starts_with("NUMA 1, CPUs 8-15, "));
  CHECK(at(facts, "gpu 7") == "unknown (GPU is lost)");

  const Facts nic = nicFacts(nics, topology);
  CHECK(nic.size() == 4);
  CHECK(at(nic, "nic mlx5_2").starts_with("RDMA (ens2), 0003:9a:02.0, NUMA 1, CPUs 8-15, "));

  const Facts paths = pathFacts(*gpus, nics, topology);
  CHECK(paths.size() == 10);  // of 11 devices with an address
  CHECK(at(paths, "path gpu 0") ==
        "gpu 1 NV18 NVSwitch P2P n/a (MIG), gpu 2 NV18 NVSwitch P2P ok, gpu 3 NV18 NVSwitch P2P "
        "ok, gpu 4 NV18 NVSwitch P2P ok, gpu 5 NV18 NVSwitch P2P ok, gpu 6 NV18 NVSwitch P2P ok, "
        "mlx5_0 PIX, mlx5_1 NODE, mlx5_2 SYS, mlx5_3 SYS");
  CHECK(at(paths, "path mlx5_2") == "mlx5_3 NODE");
}

TEST_CASE("a device's place: link, configuration space, ACS on its way") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  const std::string gpu = "0003:1a:00.0";
  machine.link(gpu, "16.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16);
  machine.config(gpu, FakeConfig{}.bytes());
  const auto acs = [&](unsigned port, unsigned top, std::size_t size) {
    machine.config("0002:1a:00.0",
                   FakeConfig{.acs = true, .acsControl = port, .size = size}.bytes());
    machine.config("0001:1a:00.0", FakeConfig{}.bytes());
    machine.config("0000:1a:01.0", FakeConfig{.acs = true, .acsControl = top}.bytes());
    return pciText(gpu, topology);
  };
  CHECK(acs(0, 0, 4096) ==
        "NUMA 0, CPUs 0-7, link Gen4 x8 of Gen5 x16, MaxReadReq 512 B, MaxPayload 256 B, ACS off, "
        "IOMMU group none");
  CHECK(acs(0x1D, 0x1D, 4096).find("ACS on at 0002:1a:00.0 0000:1a:01.0,") != std::string::npos);
  CHECK(acs(0, 0x1D, 64).find("ACS on at 0000:1a:01.0,") != std::string::npos);
  CHECK(acs(0, 0, 64).find("ACS unknown (unprivileged),") != std::string::npos);
}

TEST_CASE("the flat tree of a virtual machine says what it is") {
  FakeTree tree;
  tree.pci("pci0000:00/0000:00:01.0", 0);
  tree.pci("pci0000:00/0000:00:02.0", 0);
  const Topology topology(tree.sys());
  FakeNvml nvml;
  nvml.gpus = {{.pci = "00000000:00:01.0", .links = switched(18)},
               {.pci = "00000000:00:02.0", .links = switched(18)}};
  const auto gpus = readGpus(nvml.lookup());
  REQUIRE(gpus.ok());
  CHECK(at(gpuFacts(gpus, topology), "gpu 0 pci").find("ACS unknown (no bridge is visible)") !=
        std::string::npos);
  CHECK(at(pathFacts(*gpus, {}, topology), "path gpu 0") ==
        "gpu 1 NV18 NVSwitch P2P ok (virtual PCI tree)");
}

TEST_CASE("list: a line for each GPU, or why there are none") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  FakeNvml nvml;
  nvml.gpus = {{.pci = machine.gpus[0], .links = switched(18)},
               {.pci = machine.gpus[5], .mig = 1},
               {.lost = true}};
  CHECK(gpuLines(readGpus(nvml.lookup()), topology) ==
        "    0   NVIDIA H200  0003:1a:00.0  NUMA 0  140.4 GiB  18 NVLinks\n"
        "    1   NVIDIA H200  0003:9a:01.0  NUMA 1  140.4 GiB  NVLinks unknown (Not Supported)  "
        "MIG (not supported)\n"
        "    2   cannot be used: GPU is lost\n");
  const Error none{.code = ErrorCode::kNotFound, .tried = "find GPUs", .nativeText = "no driver"};
  CHECK(gpuLines(none, topology) == "    none: no driver\n");
  machine.pciFile(machine.gpus[0], "vendor", "0x10de");
  machine.pciFile(machine.gpus[0], "class", "0x030200");
  CHECK(gpuLines(none, topology) == "    none: no driver; on the PCI bus: 0003:1a:00.0\n");
  CHECK(at(gpuFacts(none, topology), "gpus") ==
        "unknown (no driver; on the PCI bus: 0003:1a:00.0)");
}

TEST_CASE("the whole description of this machine: keys do not repeat, values are one line") {
  ::setenv("GDRTEST_THING", "7", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-x", 1);
  ::setenv("CUDA_SECRET", "x", 1);
  constexpr std::array<std::string_view, 1> kPrefixes = {"GDRTEST_"};
  const Facts facts = describeMachine(kPrefixes);
  ::unsetenv("GDRTEST_THING");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("CUDA_SECRET");
  std::set<std::string> keys;
  for (const auto& fact : facts) {
    CAPTURE(fact.first);
    CHECK(keys.insert(fact.first).second);
    CHECK(fact.second.find('\n') == std::string::npos);
  }
  CHECK(at(facts, "host") == hostName());
  CHECK(at(facts, "env GDRTEST_THING") == "7");
  CHECK(at(facts, "env CUDA_VISIBLE_DEVICES") == "GPU-x");
  CHECK(at(facts, "env CUDA_SECRET") == "no such fact");
  for (const char* key : {"kernel", "cpu", "cpus allowed", "cpu governor", "clock source", "memory",
                          "numa nodes", "numa balancing", "gpus", "memlock limit"}) {
    CAPTURE(key);
    CHECK(at(facts, key) != "no such fact");
  }
}
