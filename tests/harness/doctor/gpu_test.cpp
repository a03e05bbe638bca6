// SPDX-License-Identifier: Apache-2.0
// GPUs, their drivers, and pairs of them.
#include "harness/cuda/api.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/harness/doctor/fake_machine.h"

using namespace gdrbench;
using namespace gdrbench::test;

TEST_CASE("proprietary modules export no dma-buf: a NIC is reached through peer memory or not") {
  FakeMachine machine;
  machine.tree.write("proc/driver/nvidia/version",
                     "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue");
  for (auto& device : machine.cuda.devices) device.dmaBuf = false;
  Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "driver.module").level == Level::kWarn);
  CHECK(contains(checkOf(all, "driver.module").finding, "550.54.15, proprietary"));
  CHECK(checkOf(all, "gpu.dma-buf", "gpu 0").level == Level::kFail);
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kImpossible);
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "path.registration"));

  machine.tree.write("proc/modules", "nvidia 1 0 - Live 0x0\nnvidia_peermem 1 0 - Live 0x0");
  machine.tree.write("sys/kernel/mm/memory_peers/nv_mem/version", "580.159.03");
  all = examined(machine.inputs());
  CHECK(checkOf(all, "driver.peer-memory").level == Level::kOk);
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kPossible);
}

TEST_CASE("peer memory that is loaded and not registered is no way") {
  FakeMachine machine;
  machine.tree.write("proc/modules", "nvidia 1 0 - Live 0x0\nnvidia_peermem 1 0 - Live 0x0");
  Examination all = examined(machine.inputs());
  const Check& peer = checkOf(all, "driver.peer-memory");
  CHECK(peer.level == Level::kFail);
  CHECK(contains(peer.finding, "no entry in /sys/kernel/mm/memory_peers"));
  CHECK(contains(peer.remedy, "modprobe -r nvidia_peermem"));
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kPossible);  // by dma-buf

  for (auto& device : machine.cuda.devices) device.dmaBuf = false;
  all = examined(machine.inputs());
  const Conclusion& path = conclusionOf(all, "gpu 0 - mlx5_0");
  CHECK(path.verdict == Verdict::kImpossible);
  CHECK(contains(path.why, "nvidia_peermem is loaded, but the RDMA stack knows nothing of it"));
}

TEST_CASE("an old kernel leaves dma-buf open to doubt") {
  const FakeMachine machine;
  machine.tree.write("proc/sys/kernel/osrelease", "5.4.0-100-generic");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "driver.kernel-dma-buf").level == Level::kWarn);
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kUnknown);
}

TEST_CASE("kernel releases: 5.12 is the first, and what is no number is unknown") {
  Inputs inputs;
  for (const auto& known : {std::pair{"5.11.22", Level::kWarn},
                            {"5.12.0", Level::kOk},
                            {"6.1.0-48-cloud-amd64", Level::kOk},
                            {"", Level::kUnknown},
                            {"custom", Level::kUnknown}}) {
    CAPTURE(known.first);
    inputs.kernel = known.first;
    CHECK(doctor::kernelDmaBufCheck(inputs).level == known.second);
  }
}

TEST_CASE("the GPU's own no is final, whatever modules are there") {
  FakeMachine machine;
  machine.cuda.devices[0].gpuDirect = false;
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "gpu.gpudirect-rdma", "gpu 0").level == Level::kFail);
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kImpossible);
  CHECK(conclusionOf(all, "gpu 1 - mlx5_0").verdict == Verdict::kPossible);
}

TEST_CASE("what CUDA does not show is not known, and not refused") {
  FakeMachine machine;
  machine.cuda.devices.erase(machine.cuda.devices.begin());
  Inputs inputs = machine.inputs();
  inputs.visibleDevices = "1,2";
  const Examination all = examined(inputs);
  CHECK(checkOf(all, "gpu.visible", "gpu 0").level == Level::kUnknown);
  CHECK(checkOf(all, "gpu.visible", "gpu 0").finding ==
        "unknown (hidden: CUDA_VISIBLE_DEVICES is '1,2')");
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kUnknown);
}

TEST_CASE("MIG") {
  FakeMachine machine;
  machine.gpus.gpus[0].mig = true;
  machine.gpus.gpus[0].migUuids = {"MIG-a", "MIG-b"};
  machine.gpus.gpus[1].mig = Known<bool>::unknown("Not Supported");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "gpu.mig", "gpu 0").level == Level::kFail);
  CHECK(contains(checkOf(all, "gpu.mig", "gpu 0").finding, "2 instances"));
  CHECK(checkOf(all, "gpu.mig", "gpu 1").level == Level::kNotApplicable);
  CHECK(checkOf(all, "gpu.mig", "gpu 2").level == Level::kOk);
  CHECK(conclusionOf(all, "gpu 0 - gpu 1").verdict == Verdict::kImpossible);
  CHECK(cites(conclusionOf(all, "gpu 0 - gpu 1"), "gpu.mig"));
}

TEST_CASE("links of GPUs: missing lanes are a fault, a low speed is an idle GPU") {
  FakeMachine machine;
  machine.gpus.gpus[0].pcieWidth = 8;
  machine.gpus.gpus[1].pcieGeneration = 1;
  const Examination all = examined(machine.inputs());
  const Check& narrow = checkOf(all, "gpu.pcie-link", "gpu 0");
  CHECK(narrow.level == Level::kFail);
  CHECK(narrow.finding == "Gen5 x8 of Gen5 x16: lanes are missing");
  const Check& idle = checkOf(all, "gpu.pcie-link", "gpu 1");
  CHECK(idle.level == Level::kWarn);
  CHECK(contains(idle.finding, "Gen1 x16 of Gen5 x16"));
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kSlow);
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "gpu.pcie-link"));
  CHECK(conclusionOf(all, "gpu 1 - mlx5_0").verdict == Verdict::kPossible);
}

TEST_CASE("BAR1 smaller than memory") {
  Gpu gpu = goodGpu(0, "0000:3b:00.0");
  CHECK(doctor::bar1Check(gpu).level == Level::kOk);
  gpu.bar1Bytes = std::uint64_t{256} << 20;
  CHECK(doctor::bar1Check(gpu).level == Level::kWarn);
  CHECK(contains(doctor::bar1Check(gpu).finding, "256 MiB of BAR1 for 141 GiB"));
  gpu.bar1Bytes = Known<std::uint64_t>::unknown("Not Supported");
  CHECK(doctor::bar1Check(gpu).finding == "unknown (Not Supported)");
}

TEST_CASE("ordering and flush of a NIC's writes") {
  FakeMachine machine;
  machine.cuda.devices[0].writesOrdering = 0;
  machine.cuda.devices[0].flushOptions = 0;
  machine.cuda.devices[1].writesOrdering = 100;
  machine.cuda.devices[2].writesOrdering = Known<int>::unknown("attribute 118");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "gpu.write-ordering", "gpu 0").level == Level::kWarn);
  CHECK(contains(checkOf(all, "gpu.write-ordering", "gpu 1").finding, "for the GPU itself"));
  CHECK(checkOf(all, "gpu.write-ordering", "gpu 2").finding == "unknown (attribute 118)");
}

TEST_CASE("two GPUs: NVLink and peer access") {
  FakeMachine machine;
  Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "path.nvlink", "gpu 0 - gpu 1").finding == "18 NVLinks (NVSwitch), PCIe PIX");
  CHECK(conclusionOf(all, "gpu 0 - gpu 1").verdict == Verdict::kPossible);
  CHECK(cites(conclusionOf(all, "gpu 0 - gpu 1"), "path.peer-access"));

  machine.gpus.pairs[0].nvlinks = 0;                         // 0 and 1
  machine.cuda.peers[1].back = false;                        // 0 and 2
  machine.cuda.peers.erase(machine.cuda.peers.begin() + 2);  // 0 and 3: the driver's word is left
  machine.gpus.pairs[2].p2p = std::string("chipset not supported");
  all = examined(machine.inputs());
  CHECK(conclusionOf(all, "gpu 0 - gpu 1").verdict == Verdict::kSlow);
  CHECK(contains(conclusionOf(all, "gpu 0 - gpu 1").why, "no NVLink"));
  CHECK(checkOf(all, "path.acs", "gpu 0 - gpu 1").level == Level::kOk);
  CHECK(conclusionOf(all, "gpu 0 - gpu 2").verdict == Verdict::kImpossible);
  CHECK(contains(conclusionOf(all, "gpu 0 - gpu 2").why, "only one of them"));
  CHECK(conclusionOf(all, "gpu 0 - gpu 3").verdict == Verdict::kImpossible);
  CHECK(contains(conclusionOf(all, "gpu 0 - gpu 3").why, "chipset not supported"));
  CHECK(doctor::exitStatus(all) == 0);
}

TEST_CASE("what the CUDA driver answers, here and from a process of its own") {
  cuda::fake::install({.gpus = 2,
                       .pci = {"0000:1b:00.0", "0000:2b:00.0"},
                       .links = {{{0, 1}, {.peerAccess = false}}},
                       .driverVersion = 13000});
  for (const auto& facts : {doctor::readCudaFacts(), doctor::askCuda()}) {
    REQUIRE(facts);
    CHECK(facts->version == "13.0");
    REQUIRE(facts->devices.size() == 2);
    CHECK(facts->devices[1].pci == "0000:2b:00.0");
    CHECK(facts->devices[0].gpuDirect == Known<bool>(true));
    CHECK(facts->devices[0].dmaBuf == Known<bool>(false));
    REQUIRE(facts->peers.size() == 1);
    CHECK_FALSE(facts->peers[0].forth);
    CHECK(facts->peers[0].back);
  }
}
