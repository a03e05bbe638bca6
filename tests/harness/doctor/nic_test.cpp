// SPDX-License-Identifier: Apache-2.0
// RDMA devices, the way to them, and the machine around.
#include "tests/harness/doctor/fake_machine.h"

using namespace gdrbench;
using namespace gdrbench::test;

namespace {

/// Request and completion redirect, upstream forwarding.
constexpr unsigned kRedirecting = 0x1C;

}  // namespace

TEST_CASE("ACS: off, on, and not readable, which is never called off") {
  const FakeMachine machine;
  Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "path.acs", "gpu 0 - mlx5_0").level == Level::kOk);

  machine.setAcs(kRedirecting);
  all = examined(machine.inputs());
  const Check& on = checkOf(all, "path.acs", "gpu 0 - mlx5_0");
  CHECK(on.level == Level::kWarn);
  CHECK(contains(on.finding, "0002:1a:08.0"));
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kSlow);
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "path.acs"));

  machine.setAcs(0, 64);
  all = examined(machine.inputs());
  const Check& unread = checkOf(all, "path.acs", "gpu 0 - mlx5_0");
  CHECK(unread.level == Level::kUnknown);
  CHECK(unread.finding == "unknown (unprivileged)");
  CHECK(unread.remedy == "ask as root");
  const Conclusion& path = conclusionOf(all, "gpu 0 - mlx5_0");
  CHECK(path.verdict == Verdict::kPossible);
  CHECK(contains(path.why, "unprivileged"));
}

TEST_CASE("a NIC's link that was trained down is a fault, in lanes and in speed") {
  const FakeMachine machine;
  machine.tree.link("0003:1a:02.0", "32.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16);
  machine.tree.link("0003:2a:02.0", "8.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16);
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "rdma.pcie-link", "mlx5_0").level == Level::kFail);
  CHECK(checkOf(all, "rdma.pcie-link", "mlx5_0").finding ==
        "Gen5 x8 of Gen5 x16: lanes are missing");
  CHECK(checkOf(all, "rdma.pcie-link", "mlx5_1").level == Level::kFail);
  CHECK(contains(checkOf(all, "rdma.pcie-link", "mlx5_1").finding, "Gen3 x16 of Gen5 x16"));
  CHECK(checkOf(all, "rdma.pcie-link", "mlx5_2").level == Level::kOk);
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kSlow);
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "rdma.pcie-link"));
}

TEST_CASE("a container without device files: the kernel has the NIC, programs do not") {
  const FakeMachine machine;
  fs::remove_all(machine.tree.roots().dev / "infiniband");
  machine.tree.write("proc/self/mounts", "overlay / overlay rw,relatime 0 0");
  const Examination all = examined(machine.inputs());
  const Check& file = checkOf(all, "rdma.device-file", "mlx5_0");
  CHECK(file.level == Level::kFail);
  CHECK(contains(file.finding, "/dev/infiniband/uverbs0 is not in this container"));
  CHECK(contains(file.remedy, "--device=/dev/infiniband"));
  CHECK(checkOf(all, "rdma.connection-manager").level == Level::kWarn);
  CHECK(contains(checkOf(all, "machine.container").finding, "a container"));
  for (const Conclusion& each : all.conclusions) {
    if (each.kind != doctor::Kind::kGpuToNic) continue;
    CHECK(each.verdict == Verdict::kImpossible);
    CHECK(cites(each, "rdma.device-file"));
  }
  CHECK(conclusionOf(all, "gpu 0 - gpu 1").verdict == Verdict::kPossible);
}

TEST_CASE("GID tables: empty, without RoCE v2, with it") {
  const FakeMachine machine;
  const fs::path ports = machine.tree.sys() / "class/infiniband";
  fs::remove_all(ports / "mlx5_0/ports/1/gids");
  machine.tree.write("sys/class/infiniband/mlx5_1/ports/1/gid_attrs/types/1", "IB/RoCE v1");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "rdma.gid", "mlx5_0").level == Level::kFail);
  CHECK(checkOf(all, "rdma.gid", "mlx5_0").finding == "the GID table is empty");
  CHECK(conclusionOf(all, "gpu 0 - mlx5_0").verdict == Verdict::kImpossible);
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "rdma.gid"));
  CHECK(checkOf(all, "rdma.gid", "mlx5_1").level == Level::kWarn);
  CHECK(checkOf(all, "rdma.gid", "mlx5_2").finding == "port 1: 2 GIDs, RoCE v2 among them");
}

TEST_CASE("a port that is down") {
  const FakeMachine machine;
  machine.tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "rdma.port", "mlx5_0").level == Level::kFail);
  CHECK(contains(checkOf(all, "rdma.port", "mlx5_0").finding, "port 1: DOWN, Ethernet"));
  CHECK(cites(conclusionOf(all, "gpu 0 - mlx5_0"), "rdma.port"));
}

TEST_CASE("software devices take no GPU memory") {
  FakeMachine machine;
  const std::string device = "sys/class/infiniband/rxe0/";
  machine.tree.write(device + "node_desc", "rxe");
  machine.tree.write(device + "ports/1/state", "4: ACTIVE");
  const Examination all = examined(machine.inputs());
  const Conclusion& path = conclusionOf(all, "gpu 0 - rxe0");
  CHECK(path.verdict == Verdict::kImpossible);
  CHECK(contains(path.why, "a software device"));
  CHECK(checkOf(all, "rdma.pcie-link", "rxe0").level == Level::kNotApplicable);
}

TEST_CASE("a driver of which nothing is known here leaves it open") {
  FakeTree tree;
  addDriver(tree);
  tree.pci("pci0000:10/0000:10:01.0");
  tree.pci("pci0000:10/0000:10:01.0/0000:11:00.0");
  tree.pci("pci0000:10/0000:10:02.0");
  tree.pci("pci0000:10/0000:10:02.0/0000:12:00.0");
  tree.ofClass("class/infiniband/new_0", "0000:12:00.0");
  addNic(tree, "new_0", "0000:12:00.0", "new_core");
  GpuInventory gpus;
  gpus.gpus = {goodGpu(0, "0000:11:00.0")};
  const CudaFacts cuda{.version = "13.0", .devices = {goodCuda(0, "0000:11:00.0")}};
  const Examination all = examined(doctor::readInputs(tree.roots(), gpus, cuda));
  CHECK(conclusionOf(all, "gpu 0 - new_0").verdict == Verdict::kUnknown);
  CHECK(contains(conclusionOf(all, "gpu 0 - new_0").why, "whether driver 'new_core' imports it"));
  CHECK(doctor::exitStatus(all) == 4);
}

TEST_CASE("IOMMU groups") {
  const FakeMachine machine;
  const auto put = [&](const char* pci, int number, const char* type) {
    machine.tree.write(fmt::format("sys/kernel/iommu_groups/{}/type", number), type);
    fs::create_directory_symlink(
        machine.tree.sys() / "kernel/iommu_groups" / std::to_string(number),
        machine.tree.sys() / "bus/pci/devices" / pci / "iommu_group");
  };
  put("0003:1a:02.0", 4, "identity");
  put("0003:2a:02.0", 5, "DMA-FQ");
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "path.iommu", "gpu 0 - mlx5_0").finding ==
        "group 4 (identity): addresses are not translated");
  CHECK(checkOf(all, "path.iommu", "gpu 2 - mlx5_1").level == Level::kWarn);
  CHECK(cites(conclusionOf(all, "gpu 2 - mlx5_1"), "path.iommu"));
  CHECK(checkOf(all, "path.iommu", "gpu 4 - mlx5_2").finding == "the NIC is in no IOMMU group");
}

TEST_CASE("requests of a NIC that are small, or not readable") {
  const FakeMachine machine;
  machine.tree.config("0003:1a:02.0", FakeConfig{.readRequestCode = 0}.bytes());
  machine.tree.config("0003:2a:02.0", FakeConfig{.size = 64}.bytes());
  const Examination all = examined(machine.inputs());
  CHECK(checkOf(all, "rdma.max-read-request", "mlx5_0").level == Level::kWarn);
  CHECK(checkOf(all, "rdma.max-read-request", "mlx5_1").finding == "unknown (unprivileged)");
}

TEST_CASE("locked memory: small, plenty, lifted, unlimited") {
  Inputs inputs;
  inputs.memlock = std::uint64_t{64} << 10;
  CHECK(doctor::memlockCheck(inputs).level == Level::kWarn);
  CHECK(doctor::memlockCheck(inputs).finding ==
        "64 KiB: queues and host buffers beyond it cannot be registered");
  inputs.mayLockAll = true;
  CHECK(doctor::memlockCheck(inputs).level == Level::kOk);
  inputs.mayLockAll = false;
  inputs.memlock = std::uint64_t{4} << 30;
  CHECK(doctor::memlockCheck(inputs).level == Level::kOk);
  inputs.memlock = kNoLimit;
  CHECK(doctor::memlockCheck(inputs).finding == "unlimited");
  inputs.memlock = Known<std::uint64_t>::unknown("getrlimit failed");
  CHECK(doctor::memlockCheck(inputs).level == Level::kUnknown);
}

TEST_CASE("the capability that lifts the limit is read") {
  const FakeMachine machine;
  CHECK_FALSE(machine.inputs().mayLockAll);
  machine.tree.write("proc/self/status", "CapEff:\t0000000000004000");
  CHECK(machine.inputs().mayLockAll);
}

TEST_CASE("limits of control groups, governor, NUMA balancing") {
  Inputs inputs;
  inputs.memoryLeft = std::uint64_t{512} << 20;
  inputs.cpuQuota = "2.0 CPUs";
  inputs.governor = "powersave";
  inputs.numaBalancing = "1";
  for (const auto& check : {doctor::memoryLimitCheck(inputs), doctor::cpuLimitCheck(inputs),
                            doctor::governorCheck(inputs), doctor::numaBalancingCheck(inputs)}) {
    CAPTURE(check.id);
    CHECK(check.level == Level::kWarn);
    CHECK_FALSE(check.remedy.empty());
    CHECK_FALSE(check.documented.empty());
  }
  inputs = {};
  inputs.cpuQuota = "none";
  inputs.governor = "performance";
  inputs.numaBalancing = "0";
  for (const auto& check : {doctor::memoryLimitCheck(inputs), doctor::cpuLimitCheck(inputs),
                            doctor::governorCheck(inputs), doctor::numaBalancingCheck(inputs)}) {
    CAPTURE(check.id);
    CHECK(check.level == Level::kOk);
  }
  inputs.memoryLeft = 9007199251771636ULL << 10;  // what version 1 says
  CHECK(doctor::memoryLimitCheck(inputs).finding == "no control group limits memory");
  inputs.governor = unknownText("no such file");
  CHECK(doctor::governorCheck(inputs).level == Level::kUnknown);
}

TEST_CASE("libraries: another version than the headers, no CUDA, not there") {
  doctor::Library library{
      .user = "some", .name = "libsome", .version = std::string("1.20"), .headers = "1.20"};
  CHECK(doctor::libraryCheck(library).level == Level::kOk);
  library.headers = "1.17";
  CHECK(doctor::libraryCheck(library).level == Level::kWarn);
  CHECK(contains(doctor::libraryCheck(library).finding, "built with headers of 1.17"));
  library.headers = "1.20";
  library.cuda = false;
  CHECK(contains(doctor::libraryCheck(library).finding, "built without CUDA"));
  library.version = Known<std::string>::unknown("no such file");
  CHECK(doctor::libraryCheck(library).level == Level::kUnknown);
}

TEST_CASE("variables that take the direct path away") {
  CHECK(doctor::variableCheck({"SOME_P2P", "1", true, "memory of the host is in between"}).level ==
        Level::kWarn);
  CHECK(doctor::variableCheck({"SOME_P2P", "0", false, "x"}).finding == "SOME_P2P=0");
}
