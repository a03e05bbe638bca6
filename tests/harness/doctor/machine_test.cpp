// SPDX-License-Identifier: Apache-2.0
// Whole machines, and what is concluded about their paths.
#include "tests/harness/doctor/fake_machine.h"

using namespace gdrbench;
using namespace gdrbench::test;

namespace {

Error missing(const char* text) {
  return {.code = ErrorCode::kUnsupported, .tried = "find GPUs", .nativeText = text};
}

}  // namespace

TEST_CASE("a good machine: every path is possible, the near ones at full speed") {
  const FakeMachine machine;
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "driver.module").finding == "580.159.03, open kernel modules");
  CHECK(checkOf(all, "driver.module").level == Level::kOk);
  CHECK(checkOf(all, "driver.peer-memory").level == Level::kWarn);  // dma-buf serves
  CHECK(checkOf(all, "path.distance", "gpu 0 - mlx5_0").finding == "PIX: below one host bridge");
  CHECK(checkOf(all, "rdma.max-read-request", "mlx5_0").finding == "4096 B");
  const Conclusion& near = conclusionOf(all, "gpu 0 - mlx5_0");
  CHECK(near.kind == doctor::Kind::kGpuToNic);
  CHECK(near.verdict == Verdict::kPossible);
  CHECK(near.why == "");
  CHECK(cites(near, "path.registration"));
  CHECK(all.conclusions.size() == 8 * 4 + 28);
  CHECK(doctor::exitStatus(all) == 0);
}

TEST_CASE("distances from PIX to SYS") {
  const FakeMachine machine;
  machine.tree.pci("pci0000:70/0000:70:01.0");
  machine.tree.pci("pci0000:70/0000:70:01.0/0000:71:00.0");
  machine.tree.pci("pci0000:70/0000:70:02.0");
  machine.tree.pci("pci0000:70/0000:70:02.0/0000:72:00.0");
  machine.tree.ofClass("class/infiniband/mlx5_8", "0000:72:00.0");
  addNic(machine.tree, "mlx5_8", "0000:72:00.0");
  FakeMachine far;  // only for its inventory: a GPU of its own on the tree above
  GpuInventory gpus = machine.gpus;
  gpus.gpus.push_back(goodGpu(8, "0000:71:00.0"));
  const Inputs inputs = doctor::readInputs(machine.tree.roots(), gpus, machine.cuda);
  const Examination all = examined(inputs);
  const auto distance = [&](const char* pair) { return checkOf(all, "path.distance", pair); };
  CHECK(distance("gpu 0 - mlx5_0").level == Level::kOk);
  CHECK(contains(distance("gpu 0 - mlx5_0").finding, "PIX"));
  CHECK(distance("gpu 8 - mlx5_8").level == Level::kWarn);
  CHECK(contains(distance("gpu 8 - mlx5_8").finding, "PHB"));
  CHECK(contains(distance("gpu 0 - mlx5_1").finding, "NODE"));
  CHECK(distance("gpu 0 - mlx5_2").level == Level::kWarn);
  CHECK(contains(distance("gpu 0 - mlx5_2").finding, "SYS"));
  CHECK(distance("gpu 0 - mlx5_2").remedy == "take the NIC that is nearest to the GPU");
  const Conclusion& slow = conclusionOf(all, "gpu 0 - mlx5_2");
  CHECK(slow.verdict == Verdict::kSlow);
  CHECK(cites(slow, "path.distance"));
}

TEST_CASE("behind two switches in a row: PXB") {
  FakeTree tree;
  addDriver(tree);
  const std::string top = "pci0000:10/0000:10:01.0/0000:11:00.0";
  for (const std::string& way :
       {std::string("pci0000:10/0000:10:01.0"), top, top + "/0000:12:00.0",
        top + "/0000:12:00.0/0000:13:00.0", top + "/0000:12:00.0/0000:13:00.0/0000:14:00.0",
        top + "/0000:12:00.0/0000:13:00.0/0000:14:00.0/0000:15:00.0", top + "/0000:12:01.0",
        top + "/0000:12:01.0/0000:16:00.0"}) {
    tree.pci(way);
  }
  tree.ofClass("class/infiniband/mlx5_0", "0000:16:00.0");
  addNic(tree, "mlx5_0", "0000:16:00.0");
  GpuInventory gpus;
  gpus.gpus = {goodGpu(0, "0000:15:00.0")};
  const CudaFacts cuda{.version = "13.0", .devices = {goodCuda(0, "0000:15:00.0")}};
  const Examination all = examined(doctor::readInputs(tree.roots(), gpus, cuda));
  CHECK(checkOf(all, "path.distance", "gpu 0 - mlx5_0").finding == "PXB: below one host bridge");
  // Bridges without a configuration file: not known, never "off".
  CHECK(checkOf(all, "path.acs", "gpu 0 - mlx5_0").level == Level::kUnknown);
}

TEST_CASE("a flat tree of a virtual machine says nothing of the distance") {
  FakeTree tree;
  addDriver(tree);
  tree.pci("pci0000:00/0000:00:05.0");
  tree.pci("pci0000:00/0000:00:06.0");
  tree.ofClass("class/infiniband/mlx5_0", "0000:00:06.0");
  addNic(tree, "mlx5_0", "0000:00:06.0");
  GpuInventory gpus;
  gpus.gpus = {goodGpu(0, "0000:00:05.0")};
  const CudaFacts cuda{.version = "13.0", .devices = {goodCuda(0, "0000:00:05.0")}};
  const Examination all = examined(doctor::readInputs(tree.roots(), gpus, cuda));
  const Check& distance = checkOf(all, "path.distance", "gpu 0 - mlx5_0");
  CHECK(distance.level == Level::kUnknown);
  CHECK(contains(distance.finding, "virtual PCI tree"));
  const Conclusion& path = conclusionOf(all, "gpu 0 - mlx5_0");
  CHECK(path.verdict == Verdict::kPossible);
  CHECK(contains(path.why, "its speed is not known"));
}

TEST_CASE("GPUs without an RDMA device: the GPU's side is able, the path is not possible") {
  FakeTree tree;
  addDriver(tree);
  tree.pci("pci0000:00/0000:00:05.0");
  GpuInventory gpus;
  gpus.gpus = {goodGpu(0, "0000:00:05.0")};
  const CudaFacts cuda{.version = "13.0", .devices = {goodCuda(0, "0000:00:05.0")}};
  const Examination all = examined(doctor::readInputs(tree.roots(), gpus, cuda));
  const Conclusion& path = conclusionOf(all, "GPUDirect RDMA");
  CHECK(path.verdict == Verdict::kImpossible);
  CHECK(path.why == "there is no RDMA device");
  CHECK(path.decidedBy == std::vector<std::string>{"rdma.count"});
  const Conclusion& side = conclusionOf(all, "gpu 0");
  CHECK(side.kind == doctor::Kind::kGpuSide);
  CHECK(side.verdict == Verdict::kPossible);
  CHECK(side.why == "the GPU's side is able: GPUDirect RDMA yes, dma-buf yes");
  CHECK(doctor::exitStatus(all) == 3);  // a side is no path
}

TEST_CASE("no GPU and no driver") {
  const FakeTree tree;
  tree.write("proc/modules", "ext4 1 0 - Live 0x0");
  const Error none = missing("libnvidia-ml.so.1: cannot open shared object file");
  const Examination all = examined(doctor::readInputs(tree.roots(), none, none));
  CHECK(checkOf(all, "driver.module").level == Level::kNotApplicable);
  CHECK(checkOf(all, "gpu.count").finding == "there is no GPU");
  const Conclusion& path = conclusionOf(all, "GPUDirect RDMA");
  CHECK(path.verdict == Verdict::kImpossible);
  CHECK(path.why == "there is no GPU");
  CHECK(doctor::exitStatus(all) == 3);
}

TEST_CASE("a GPU on the bus without a driver is named") {
  const FakeTree tree;
  tree.pci("pci0000:00/0000:00:05.0");
  tree.pciFile("0000:00:05.0", "vendor", "0x10de");
  tree.pciFile("0000:00:05.0", "class", "0x030200");
  const Error none = missing("Driver Not Loaded");
  const Examination all = examined(doctor::readInputs(tree.roots(), none, none));
  CHECK(checkOf(all, "driver.module").level == Level::kFail);
  const Conclusion& path = conclusionOf(all, "GPUDirect RDMA");
  CHECK(path.verdict == Verdict::kImpossible);
  CHECK(contains(path.why, "0000:00:05.0"));
}

TEST_CASE("a driver that cannot be asked: unknown, with its reason") {
  const FakeTree tree;
  addDriver(tree);
  const Error hangs = missing("no answer within 60000 ms");
  const Examination all = examined(doctor::readInputs(tree.roots(), hangs, hangs));
  const Conclusion& path = conclusionOf(all, "GPUDirect RDMA");
  CHECK(path.verdict == Verdict::kUnknown);
  CHECK(path.why == "unknown (no answer within 60000 ms)");
  CHECK(doctor::exitStatus(all) == 4);
}

TEST_CASE("one GPU and one NIC of many, by any of their names") {
  const FakeMachine machine;
  const Inputs inputs = machine.inputs();
  for (const char* name : {"1", "GPU-1", "0003:1A:01.0"}) {
    const Examination all = examined(inputs, {.gpu = name, .nic = "ens0"});
    REQUIRE(all.conclusions.size() == 1);
    CHECK(all.conclusions[0].subject == "gpu 1 - mlx5_0");
  }
  CHECK(examined(inputs, {.gpu = "3"}).conclusions.size() == 4 + 7);
  const auto gpu = doctor::examine(inputs, {.gpu = "99"});
  REQUIRE(!gpu);
  CHECK(gpu.error().code == ErrorCode::kUsage);
  CHECK(contains(gpu.error().what(), "7 (0003:aa:01.0)"));
  const auto nic = doctor::examine(inputs, {.nic = "mlx5_9"});
  REQUIRE(!nic);
  CHECK(contains(nic.error().what(), "mlx5_0, mlx5_1, mlx5_2 and mlx5_3"));
}

TEST_CASE("a GPU that fell off the bus takes its paths with it, and no others") {
  FakeMachine machine;
  machine.gpus.gpus[0].problem = "GPU is lost";
  machine.cuda.devices.erase(machine.cuda.devices.begin());
  const Examination all = examined(machine.inputs());
  const Conclusion& lost = conclusionOf(all, "gpu 0 - mlx5_0");
  CHECK(lost.verdict == Verdict::kImpossible);
  CHECK(contains(lost.why, "GPU is lost"));
  CHECK(conclusionOf(all, "gpu 1 - mlx5_0").verdict == Verdict::kPossible);
}
