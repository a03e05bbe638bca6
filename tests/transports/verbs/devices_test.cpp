// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/devices.h"

#include <fstream>

#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {
namespace {

namespace fs = std::filesystem;

/// A sysfs tree in a folder of its own.
class FakeSys {
 public:
  FakeSys() {
    std::string name = (fs::temp_directory_path() / "gdrbench-sys-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~FakeSys() { fs::remove_all(root_); }
  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  /// `path` below devices/: "pci0000:3a/0000:3a:00.0/0000:3b:00.0".
  void pciDevice(const std::string& path, const std::string& rdma = {},
                 const std::string& interface = {}) {
    const fs::path device = root_ / "devices" / path;
    fs::create_directories(device);
    fs::create_directories(root_ / "bus/pci/devices");
    fs::create_directory_symlink(device, root_ / "bus/pci/devices" / device.filename());
    if (!interface.empty()) fs::create_directories(device / "net" / interface);
    if (rdma.empty()) return;
    fs::create_directories(root_ / "class/infiniband" / rdma);
    fs::create_directory_symlink(device, root_ / "class/infiniband" / rdma / "device");
  }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

/// Two adapters behind different switches, a third on the other socket.
struct Machine {
  Machine() {
    for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2"}) fake.add(name);
    sys.pciDevice("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:00.0", "mlx5_0", "eth0");
    sys.pciDevice("pci0000:3a/0000:3a:02.0/0000:4b:00.0/0000:4c:00.0", "mlx5_1", "eth1");
    sys.pciDevice("pci0000:ba/0000:ba:00.0/0000:bb:00.0", "mlx5_2", "eth2");
    sys.pciDevice("pci0000:3a/0000:3a:02.0/0000:4b:00.0/0000:4d:00.0");  // a GPU
  }
  Result<OpenDevice> open(const std::string& device, std::uint8_t port = 0,
                          const std::string& gpu = {}) {
    Platform platform = platformOf(fake);
    platform.sys = sys.root();
    return openDevice(platform, {.device = device, .port = port, .gpuPciAddress = gpu});
  }
  std::string chosen(const std::string& device, const std::string& gpu = {}) {
    auto opened = open(device, 0, gpu);
    REQUIRE_MESSAGE(opened.ok(), opened.error().what());
    return opened->entry.name;
  }
  FakeVerbs fake;
  FakeSys sys;
};

}  // namespace

TEST_CASE("device: by name, number, PCI address and network interface") {
  Machine machine;
  CHECK(machine.chosen("mlx5_1") == "mlx5_1");
  CHECK(machine.chosen("0") == "mlx5_0");
  CHECK(machine.chosen("2") == "mlx5_2");
  CHECK(machine.chosen("0000:4c:00.0") == "mlx5_1");
  CHECK(machine.chosen("bb:00.0") == "mlx5_2");
  CHECK(machine.chosen("eth2") == "mlx5_2");
  auto named = machine.open("eth1");
  REQUIRE(named.ok());
  CHECK(named->interface == "eth1");  // its GIDs are the ones to choose from
  CHECK(named->entry.text() == "mlx5_1 (0000:4c:00.0, eth1)");
}

TEST_CASE("device: one that is not there is answered with what there is") {
  Machine machine;
  for (const char* wrong : {"mlx5_99", "3", "lo", "rxe0:1", "0000:ff:00.0", "mlx5_"}) {
    const auto opened = machine.open(wrong);
    REQUIRE_FALSE_MESSAGE(opened.ok(), wrong);
    CHECK(opened.error().code == ErrorCode::kNotFound);
    CHECK(has(opened.error().what(), wrong));
    CHECK(has(opened.error().next, "mlx5_0 (0000:3c:00.0, eth0), mlx5_1"));
  }
  CHECK(has(machine.open("mlx5_10").error().next, "did you mean"));
}

TEST_CASE("device: auto takes the first port that is up, or the nearest to the GPU") {
  Machine machine;
  CHECK(machine.chosen("auto") == "mlx5_0");
  CHECK(machine.chosen("auto", "0000:4d:00.0") == "mlx5_1");
  auto opened = machine.open("auto", 0, "0000:4d:00.0");
  CHECK(has(opened->reason, "0000:4d:00.0"));
}

TEST_CASE("device: distances, from one switch to another root") {
  const fs::path base = "/sys/devices";
  const fs::path gpu = base / "pci0000:3a/0000:3a:02.0/0000:4b:00.0/0000:4d:00.0";
  const int same = pciDistance(base / "pci0000:3a/0000:3a:02.0/0000:4b:00.0/0000:4c:00.0", gpu);
  const int root = pciDistance(base / "pci0000:3a/0000:3a:00.0/0000:3b:00.0", gpu);
  const int socket = pciDistance(base / "pci0000:ba/0000:ba:00.0/0000:bb:00.0", gpu);
  CHECK(same < root);
  CHECK(root < socket);
  CHECK(pciDistance({}, gpu) > root);
}

TEST_CASE("port: one that is down is named, with its state and a remedy") {
  FakeVerbs fake;
  fake.add("mlx5_0").ports[0].state = IBV_PORT_DOWN;
  const auto opened = openDevice(platformOf(fake), {.device = "mlx5_0"});
  REQUIRE_FALSE(opened.ok());
  CHECK(has(opened.error().what(), "port 1 of mlx5_0: the port is DOWN"));
  CHECK(has(opened.error().next, "ip link"));
}

TEST_CASE("port: auto passes over one that is down, and a device whose ports are all down") {
  FakeVerbs fake;
  auto& first = fake.add("mlx5_0");
  first.ports[0].state = IBV_PORT_DOWN;
  auto& second = fake.add("mlx5_1");
  second.ports.push_back(second.ports[0]);
  second.ports[0].state = IBV_PORT_INIT;
  const auto opened = openDevice(platformOf(fake), {});
  REQUIRE(opened.ok());
  CHECK(opened->where() == "port 2 of mlx5_1");
  CHECK(opened->port.gigabitsPerSecond == 100);
  const auto beyond = openDevice(platformOf(fake), {.device = "mlx5_1", .port = 3});
  REQUIRE_FALSE(beyond.ok());
  CHECK(has(beyond.error().what(), "it has 2"));
}

TEST_CASE("port: InfiniBand without a subnet manager") {
  FakeVerbs fake;
  auto& spec = fake.add("mlx5_0");
  spec.ports[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
  spec.ports[0].state = IBV_PORT_INIT;
  const auto opened = openDevice(platformOf(fake), {});
  REQUIRE_FALSE(opened.ok());
  CHECK(has(opened.error().next, "subnet manager"));
}

TEST_CASE("no device: which of the known reasons applies") {
  FakeVerbs fake;
  FakeSys sys;
  Platform platform = platformOf(fake);
  platform.sys = sys.root();
  auto none = DeviceList::read(platform);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kUnsupported);
  CHECK(has(none.error().what(), "no RDMA device"));
  CHECK(has(none.error().next, "lspci"));

  sys.pciDevice("pci0000:3a/0000:3b:00.0");
  sys.file("devices/pci0000:3a/0000:3b:00.0/class", "0x020000");
  sys.file("devices/pci0000:3a/0000:3b:00.0/vendor", "0x15b3");
  CHECK(has(DeviceList::read(platform).error().next, "0000:3b:00.0 has no RDMA driver"));

  sys.file("class/infiniband/mlx5_0/node_type", "1: CA");
  CHECK(has(DeviceList::read(platform).error().next, "ibverbs-providers"));

  fake.failing["deviceList"] = ENOSYS;
  CHECK(DeviceList::read(platform).error().nativeCode == ENOSYS);
}

TEST_CASE("device: no rights, or no device files, says where to look") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  fake.failing["open"] = EACCES;
  auto opened = openDevice(platformOf(fake), {});
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::kPermission);
  CHECK(has(opened.error().next, "/dev/infiniband"));
  fake.failing["open"] = ENOENT;
  opened = openDevice(platformOf(fake), {});
  CHECK(has(opened.error().next, "container"));
}

}  // namespace gdrbench::verbs
