// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/nvml.h"

#include "harness/environment/gpus_json.h"
#include "tests/harness/environment/fake_nvml.h"
#include "tests/harness/environment/fake_tree.h"

using namespace gdrbench;
using test::FakeGpu;
using test::FakeLink;
using test::FakeNvml;
using test::FakeTree;
using test::switched;
using test::TwoSockets;

namespace {

GpuInventory inventoryOf(const FakeNvml& nvml) {
  auto gpus = readGpus(nvml.lookup());
  if (!gpus) FAIL(gpus.error().what());
  CHECK(nvml.initialised == 0);
  return *std::move(gpus);
}

void addTwo(FakeNvml& nvml) {
  nvml.gpus = {FakeGpu{.pci = "00000000:1B:00.0", .uuid = "GPU-a"},
               FakeGpu{.pci = "00000000:2B:00.0", .uuid = "GPU-b"}};
}

}  // namespace

TEST_CASE("all that is asked of one GPU") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].links = switched(18);
  const GpuInventory all = inventoryOf(nvml);
  CHECK(all.driver == "580.159.03");
  CHECK(all.cudaDriver == "13.1");
  REQUIRE(all.gpus.size() == 2);
  const Gpu& gpu = all.gpus[0];
  CHECK(gpu.index == 0);
  CHECK(gpu.pci == "0000:1b:00.0");
  CHECK(gpu.name == Known<std::string>("NVIDIA H200"));
  CHECK(gpu.uuid == Known<std::string>("GPU-a"));
  CHECK(gpu.memoryBytes == Known<std::uint64_t>(143771ULL << 20));
  CHECK(gpu.bar1Bytes == Known<std::uint64_t>(256ULL << 30));
  CHECK(gpu.smMHz == Known<int>(345));
  CHECK(gpu.smMaxMHz == Known<int>(1980));
  CHECK(gpu.memoryMHz == Known<int>(3201));
  CHECK(gpu.memoryMaxMHz == Known<int>(3201));
  CHECK(gpu.ecc == Known<bool>(true));
  CHECK(gpu.persistence == Known<bool>(true));
  CHECK(gpu.mig == Known<bool>(false));
  CHECK(gpu.pcieGeneration == Known<int>(5));
  CHECK(gpu.pcieMaxWidth == Known<int>(16));
  CHECK(gpu.nvlinks == Known<int>(18));
  CHECK(all.gpus[1].index == 1);
  CHECK(all.gpus[1].nvlinks.why == "Not Supported");
}

TEST_CASE("GPUs are found by PCI address in any shape and by UUID, pairs in either order") {
  FakeNvml nvml;
  addTwo(nvml);
  const GpuInventory all = inventoryOf(nvml);
  REQUIRE(all.find("2b:00.0") != nullptr);
  CHECK(all.find("2b:00.0")->index == 1);
  CHECK(all.find("GPU-a") == &all.gpus[0]);
  CHECK(all.find("GPU-c") == nullptr);
  CHECK(all.find("3b:00.0") == nullptr);
  REQUIRE(all.pairs.size() == 1);
  CHECK(all.between("GPU-b", "1b:00.0") == &all.pairs[0]);
  CHECK(all.between("1b:00.0", "2b:00.0") == &all.pairs[0]);
  CHECK(all.between("1b:00.0", "1b:00.0") == nullptr);
}

TEST_CASE("no driver, an unloaded one, one that was replaced, no GPU: each says so") {
  FakeNvml nvml;
  const auto complaint = [&] {
    const auto gpus = readGpus(nvml.lookup());
    return gpus ? "no error" : gpus.error().what();
  };
  CHECK(complaint() ==
        "could not find GPUs: the NVIDIA driver has none; in a container: was it started with "
        "GPUs?");
  nvml.initCode = nvml::kDriverNotLoaded;
  CHECK(complaint().starts_with("could not find GPUs: Driver Not Loaded (9); load the kernel"));
  nvml.initCode = nvml::kVersionMismatch;
  CHECK(complaint().find("version mismatch (18); the driver was updated") != std::string::npos);
  nvml.missing = {"nvmlInit_v2", "nvmlErrorString"};
  CHECK(complaint().find("this driver has no nvmlInit_v2 (-1); is this the toolkit's stub") !=
        std::string::npos);
  nvml.missing = {"nvmlErrorString"};
  nvml.initCode = nvml::kLibraryNotFound;
  CHECK(complaint().find("NVML error 12 (12); is this the toolkit's stub") != std::string::npos);
  CHECK(nvml.initialised == 0);
}

TEST_CASE("what a GPU or an old driver cannot say is unknown, and the rest is there") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].refused = {"nvmlDeviceGetEccMode", "nvmlDeviceGetBAR1MemoryInfo"};
  nvml.missing = {"nvmlDeviceGetMigMode", "nvmlDeviceGetP2PStatus"};
  const GpuInventory all = inventoryOf(nvml);
  CHECK(all.gpus[0].ecc.why == "Not Supported");
  CHECK(all.gpus[0].bar1Bytes.why == "Not Supported");
  CHECK(all.gpus[0].mig.why == "this driver has no nvmlDeviceGetMigMode");
  CHECK(all.gpus[0].smMHz == Known<int>(345));
  CHECK(all.gpus[1].ecc == Known<bool>(true));
  CHECK(all.pairs[0].p2p.why == "this driver has no nvmlDeviceGetP2PStatus");
}

TEST_CASE("a GPU that is lost leaves the others alone") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].lost = true;
  const GpuInventory all = inventoryOf(nvml);
  REQUIRE(all.gpus.size() == 2);
  CHECK(all.gpus[0].problem == "GPU is lost");
  CHECK(all.gpus[0].name.why == "GPU is lost");
  CHECK(all.gpus[0].nvlinks.why == "GPU is lost");
  CHECK(all.gpus[1].problem.empty());
  CHECK(all.gpus[1].name == Known<std::string>("NVIDIA H200"));
  CHECK(all.pairs[0].p2p.why == "GPU is lost");
  CHECK(all.pairs[0].nvlinks.why == "GPU is lost");
}

TEST_CASE("direct NVLinks: those that lead to the other GPU") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus.push_back({.pci = "00000000:3B:00.0", .uuid = "GPU-c"});
  const FakeLink toA{.remote = "00000000:1B:00.0"};
  const FakeLink toB{.remote = "00000000:2B:00.0"};
  const FakeLink down{.on = false, .remote = "00000000:2B:00.0"};
  nvml.gpus[0].links = {toB, toB, toB, down};
  nvml.gpus[1].links = {toA, toA, toA, {.on = false}};
  nvml.gpus[2].links = {{.on = false}};
  const GpuInventory all = inventoryOf(nvml);
  CHECK(all.gpus[0].nvlinks == Known<int>(3));
  CHECK(all.between("GPU-a", "GPU-b")->nvlinks == Known<int>(3));
  CHECK(all.between("GPU-a", "GPU-b")->route == NvlinkRoute::kDirect);
  CHECK(all.between("GPU-a", "GPU-c")->nvlinks == Known<int>(0));
  CHECK(all.between("GPU-a", "GPU-c")->route == NvlinkRoute::kNone);
}

TEST_CASE("NVSwitch: the smaller count of active links, broken ones do not hide later ones") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].links = switched(18);
  nvml.gpus[1].links = switched(18);
  nvml.gpus[1].links[4].on = false;
  nvml.gpus[1].links[5].code = 3;  // cut off in this chip
  const GpuInventory all = inventoryOf(nvml);
  CHECK(all.gpus[1].nvlinks == Known<int>(16));
  CHECK(all.pairs[0].nvlinks == Known<int>(16));
  CHECK(all.pairs[0].route == NvlinkRoute::kSwitch);
}

TEST_CASE(
    "links whose other end a virtual machine hides count where the driver says NVLink works") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].links = nvml.gpus[1].links = std::vector<FakeLink>(12, {.remoteType = 255});
  CHECK(inventoryOf(nvml).pairs[0].nvlinks == Known<int>(12));
  CHECK(inventoryOf(nvml).pairs[0].route == NvlinkRoute::kUnknown);
  nvml.p2pNvlink = 5;
  CHECK(inventoryOf(nvml).pairs[0].nvlinks == Known<int>(0));
  CHECK(inventoryOf(nvml).pairs[0].route == NvlinkRoute::kNone);
  nvml.missing = {"nvmlDeviceGetNvLinkState"};
  CHECK(inventoryOf(nvml).pairs[0].nvlinks.why == "this driver has no nvmlDeviceGetNvLinkState");
}

TEST_CASE("peer access and path in words") {
  FakeNvml nvml;
  addTwo(nvml);
  CHECK(inventoryOf(nvml).pairs[0].p2p == Known<std::string>("ok"));
  nvml.p2pRead = nvml.p2pWrite = 3;
  CHECK(inventoryOf(nvml).pairs[0].p2p == Known<std::string>("topology not supported"));
  nvml.p2pWrite = 0;
  CHECK(inventoryOf(nvml).pairs[0].p2p ==
        Known<std::string>("read topology not supported, write ok"));
  const std::map<int, PathClass> paths = {{0, PathClass::kSame},  {10, PathClass::kPix},
                                          {20, PathClass::kPxb},  {30, PathClass::kPhb},
                                          {40, PathClass::kNode}, {50, PathClass::kSys}};
  for (const auto& [level, path] : paths) {
    nvml.ancestor = level;
    CHECK(inventoryOf(nvml).pairs[0].path == Known<PathClass>(path));
  }
  nvml.ancestor = 45;
  CHECK(inventoryOf(nvml).pairs[0].path.why == "NVML's level 45");
}

TEST_CASE("MIG: instances are named, peer access is none") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[1].mig = 1;
  nvml.gpus[1].instances = {"MIG-1", "", "MIG-2"};
  const GpuInventory all = inventoryOf(nvml);
  CHECK(all.gpus[1].mig == Known<bool>(true));
  CHECK(all.gpus[1].migUuids == std::vector<std::string>{"MIG-1", "MIG-2"});
  CHECK(all.gpus[0].migUuids.empty());
  CHECK(all.pairs[0].p2p == Known<std::string>("n/a (MIG)"));
}

TEST_CASE("labels of paths: NVLinks first, then sysfs, then the driver") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  FakeNvml nvml;
  for (const std::string& pci : machine.gpus) nvml.gpus.push_back({.pci = pci});
  nvml.gpus[0].links = nvml.gpus[2].links = switched(18);
  const GpuInventory all = inventoryOf(nvml);
  REQUIRE(all.pairs.size() == 28);
  CHECK(pathLabel(all, topology, "0003:1a:00.0", "0003:2a:00.0") == "NV18");
  CHECK(pathLabel(all, topology, "0003:1a:00.0", "0003:1a:01.0") == "PIX");
  CHECK(pathLabel(all, topology, "0003:1a:00.0", "0003:9a:00.0") == "SYS");
  CHECK(pathLabel(all, topology, "0003:1a:00.0", "0003:1a:02.0") == "PIX");  // a NIC
  CHECK(pathLabel(all, topology, "0003:1a:00.0", "0003:aa:02.0") == "SYS");
  const FakeTree nothing;
  const Topology blind(nothing.sys());
  CHECK(pathLabel(all, blind, "0003:1a:00.0", "0003:9a:00.0") == "PHB");
  CHECK(pathLabel(all, blind, "0003:1a:00.0", "0003:1a:02.0") == "unknown");
}

TEST_CASE("an inventory survives the pipe, and so does an error") {
  FakeNvml nvml;
  addTwo(nvml);
  nvml.gpus[0].refused = {"nvmlDeviceGetEccMode"};
  nvml.gpus[0].links = nvml.gpus[1].links = switched(4);
  nvml.gpus[1].mig = 1;
  nvml.gpus[1].instances = {"MIG-1"};
  const GpuInventory all = inventoryOf(nvml);
  const auto back = gpusFromJson(toJson(all));
  REQUIRE(back.ok());
  CHECK(*back == all);

  const Error lost{.code = ErrorCode::kNotFound,
                   .tried = "find GPUs",
                   .nativeCode = 9,
                   .nativeText = "Driver Not Loaded",
                   .next = "load it"};
  const auto error = gpusFromJson(toJson(lost));
  REQUIRE_FALSE(error.ok());
  CHECK(error.error().code == ErrorCode::kNotFound);
  CHECK(error.error().what() == lost.what());

  for (const char* broken : {"", "{}", "[]", "{\"is\":{}}", "{\"is\":[1]}", "{\"error\":1}"}) {
    CAPTURE(broken);
    CHECK_FALSE(gpusFromJson(broken).ok());
  }
}

TEST_CASE("this machine's GPUs, or the reason why there are none") {
  const auto gpus = findGpus();
  if (gpus) {
    CHECK(!gpus->gpus.empty());
    CHECK(gpus->gpus[0].pci.size() >= 12);
  } else {
    CHECK(gpus.error().what().starts_with("could not find GPUs: "));
  }
}
