// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/topology.h"

#include "harness/environment/cpu_list.h"
#include "harness/environment/nics.h"
#include "harness/environment/pci_address.h"
#include "tests/harness/environment/fake_tree.h"

using namespace gdrbench;
using test::FakeTree;
using test::TwoSockets;
namespace fs = std::filesystem;

TEST_CASE("PCI addresses: every shape, and what is none") {
  CHECK(normalisedPciAddress("0000:3b:00.0") == "0000:3b:00.0");
  CHECK(normalisedPciAddress("00000000:3B:00.0") == "0000:3b:00.0");
  CHECK(normalisedPciAddress("3b:00.1") == "0000:3b:00.1");
  CHECK(normalisedPciAddress("0001:AF:1f.7") == "0001:af:1f.7");
  CHECK(normalisedPciAddress("10000:01:00.0") == "10000:01:00.0");
  for (const char* none : {"", "3b", "3b:00", "pci0000:3a", "0000:3b:00.8", "0000:3b:20.0",
                           "0000:3b:00.0 ", " 3b:00.0", "3b:00.0.1", "x:3b:00.0", "3b:000.0",
                           "GPU-0", "0:0:0", "-3b:00.0", "0000::00.0"}) {
    CAPTURE(none);
    CHECK(normalisedPciAddress(none) == std::nullopt);
  }
}

TEST_CASE("CPU lists: both ways") {
  CHECK(parseCpuList("0-3,8,10-11\n") == std::vector<int>{0, 1, 2, 3, 8, 10, 11});
  CHECK(parseCpuList("5,1-2,2") == std::vector<int>{1, 2, 5});
  for (const char* none : {"", "\n", "3-1", "a", "1,,2", "-1", "1-", "0-99999999"}) {
    CAPTURE(none);
    CHECK(parseCpuList(none).empty());
  }
  CHECK(cpuListText({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(cpuListText({}).empty());
}

TEST_CASE("path classes of eight GPUs on two sockets") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  const auto path = [&](std::string_view a, std::string_view b) {
    CHECK(topology.between(a, b) == topology.between(b, a));
    return topology.between(a, b);
  };
  CHECK(path("0003:1a:00.0", "0003:1a:00.0") == PathClass::kSame);
  CHECK(path("0003:1a:00.0", "00000003:1A:00.0") == PathClass::kSame);
  CHECK(path("0003:1a:00.0", "0003:1a:01.0") == PathClass::kPix);
  CHECK(path("0003:1a:00.0", "0003:2a:00.0") == PathClass::kNode);
  CHECK(path("0003:1a:00.0", "0003:9a:00.0") == PathClass::kSys);
  CHECK(path("0003:aa:01.0", "0003:9a:01.0") == PathClass::kNode);
  CHECK(path("0003:aa:01.0", "0003:ff:01.0") == PathClass::kUnknown);
  CHECK(path("0003:aa:01.0", "no address") == PathClass::kUnknown);
  CHECK(topology.bridgesAbove("0003:1a:00.0") ==
        std::vector<std::string>{"0002:1a:00.0", "0001:1a:00.0", "0000:1a:01.0"});
  CHECK_FALSE(topology.flat("0003:1a:00.0"));
}

TEST_CASE("path classes within one host bridge") {
  FakeTree tree;
  const std::string port = "pci0000:3a/0000:3a:00.0";
  const std::string outer = port + "/0000:3b:00.0";
  const std::string inner = outer + "/0000:3c:08.0/0000:3d:00.0";
  tree.pci(outer + "/0000:3c:00.0/0000:40:00.0");
  tree.pci(inner + "/0000:3e:00.0/0000:41:00.0");
  tree.pci(inner + "/0000:3e:04.0/0000:42:00.0");
  tree.pci(inner + "/0000:3e:04.0/0000:42:00.1");
  tree.pci("pci0000:3a/0000:3a:02.0/0000:43:00.0");
  const Topology topology(tree.sys());
  CHECK(topology.between("41:00.0", "42:00.0") == PathClass::kPix);
  CHECK(topology.between("42:00.0", "42:00.1") == PathClass::kPix);  // two ports of one NIC
  CHECK(topology.between("40:00.0", "41:00.0") == PathClass::kPxb);
  CHECK(topology.between("41:00.0", "40:00.0") == PathClass::kPxb);
  CHECK(topology.between("40:00.0", "43:00.0") == PathClass::kPhb);
}

TEST_CASE("a host bridge within a controller is the one that counts") {
  FakeTree tree;
  tree.node(0, "0-3", "10");
  tree.pci("pci0000:00/0000:00:0e.0/pci10000:00/10000:00:01.0/10000:01:00.0", 0);
  tree.pci("pci0000:00/0000:00:02.0/0000:02:00.0", 0);
  const Topology topology(tree.sys());
  CHECK(topology.between("10000:01:00.0", "02:00.0") == PathClass::kNode);
  CHECK(topology.bridgesAbove("10000:01:00.0") == std::vector<std::string>{"10000:00:01.0"});
}

TEST_CASE("host bridges whose NUMA node the kernel does not know") {
  FakeTree tree;
  tree.pci("pci0000:1a/0000:1a:00.0/0000:1b:00.0");
  tree.pci("pci0000:2a/0000:2a:00.0/0000:2b:00.0");
  const Topology topology(tree.sys());
  CHECK(topology.between("1b:00.0", "2b:00.0") == PathClass::kNode);  // one node, or no NUMA
  tree.node(0, "0-3", "10 20");
  tree.node(1, "4-7", "20 10");
  CHECK(topology.between("1b:00.0", "2b:00.0") == PathClass::kUnknown);
  CHECK(topology.numaNodeOf("1b:00.0") == -1);
  CHECK(topology.numaNodeOf("ff:00.0") == -1);
}

TEST_CASE("the flat tree of a virtual machine") {
  FakeTree tree;
  tree.pci("pci0000:00/0000:00:01.0");
  tree.pci("pci0000:00/0000:00:02.0");
  const Topology topology(tree.sys());
  CHECK(topology.flat("0000:00:01.0"));
  CHECK(topology.between("0000:00:01.0", "0000:00:02.0") == PathClass::kPhb);
  CHECK(topology.bridgesAbove("0000:00:01.0").empty());
  CHECK_FALSE(topology.flat("0000:00:07.0"));
}

TEST_CASE("names of path classes are those of nvidia-smi") {
  std::string all;
  for (const PathClass path : {PathClass::kSame, PathClass::kPix, PathClass::kPxb, PathClass::kPhb,
                               PathClass::kNode, PathClass::kSys, PathClass::kUnknown}) {
    all += std::string(name(path)) + " ";
  }
  CHECK(all == "SAME PIX PXB PHB NODE SYS unknown ");
}

TEST_CASE("PCIe links: full, downtrained, bounded by the slot, virtual") {
  FakeTree tree;
  tree.pci("pci0000:3a/0000:3a:00.0");
  tree.pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  const Topology topology(tree.sys());
  CHECK(topology.link("3b:00.0") == std::nullopt);

  tree.link("0000:3b:00.0", "32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16);
  REQUIRE(topology.link("3b:00.0"));
  CHECK(text(*topology.link("3b:00.0")) == "Gen5 x16");
  CHECK_FALSE(topology.link("3b:00.0")->belowMax());
  CHECK(topology.link("3b:00.0")->bytesPerSecond() == doctest::Approx(63.015e9).epsilon(0.001));

  tree.link("0000:3b:00.0", "16.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16);
  CHECK(text(*topology.link("3b:00.0")) == "Gen4 x8 of Gen5 x16");
  CHECK(topology.link("3b:00.0")->belowMax());
  CHECK(topology.link("3b:00.0")->bytesPerSecond() == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(topology.link("3b:00.0")->maxBytesPerSecond() == doctest::Approx(63.015e9).epsilon(0.001));

  tree.link("0000:3a:00.0", "16.0 GT/s PCIe", 8, "16.0 GT/s PCIe", 8);  // the slot
  CHECK(text(*topology.link("3b:00.0")) == "Gen4 x8");

  tree.link("0000:3b:00.0", "2.5 GT/s PCIe", 8, "32.0 GT/s PCIe", 16);  // idle
  CHECK(text(*topology.link("3b:00.0")) == "Gen1 x8 of Gen4 x8");
  CHECK(topology.link("3b:00.0")->bytesPerSecond() == doctest::Approx(2e9));

  tree.link("0000:3b:00.0", "Unknown", 0, "Unknown", 255);
  CHECK(topology.link("3b:00.0") == std::nullopt);
}

TEST_CASE("CPUs near a device: local, of its node, of the nearest node that has some") {
  FakeTree tree;
  tree.node(0, "0-3", "10 20 30");
  tree.node(2, "4-7", "20 10 15");
  tree.node(3, "", "30 15 10");  // memory only; the number 1 is offline
  tree.pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0", 2);
  tree.pci("pci0000:3a/0000:3a:01.0/0000:3c:00.0", 3);
  tree.pci("pci0000:3a/0000:3a:02.0/0000:3d:00.0", -1);
  const Topology topology(tree.sys());
  CHECK(topology.numaNodes() == std::vector<int>{0, 2, 3});
  CHECK(topology.cpusNear("3b:00.0") == std::vector<int>{4, 5, 6, 7});
  CHECK(topology.cpusNear("3c:00.0") == std::vector<int>{4, 5, 6, 7});
  CHECK(topology.cpusNear("3d:00.0").empty());
  CHECK(topology.cpusNear("ff:00.0").empty());
  tree.pciFile("0000:3b:00.0", "local_cpulist", "6-7");
  CHECK(topology.cpusNear("3b:00.0") == std::vector<int>{6, 7});
  CHECK(topology.nodeOfCpu(5) == 2);
  CHECK(topology.nodeOfCpu(9) == -1);
}

TEST_CASE("NICs: RDMA with their network devices, plain ones, software") {
  FakeTree tree;
  tree.pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0", 0);
  tree.pci("pci0000:00/0000:00:03.0", 0);
  tree.ofClass("class/infiniband/mlx5_10", "0000:3b:00.0");
  tree.ofClass("class/net/ens3f0", "0000:3b:00.0");
  tree.ofClass("class/net/ens3f0v0", "0000:3b:00.0");
  tree.ofClass("class/net/eth0", "0000:00:03.0", "virtio1");
  tree.write("sys/class/net/lo/mtu", "65536");
  tree.write("sys/class/infiniband/rxe0/node_type", "1: CA");
  const std::vector<Nic> nics = findNics(Topology(tree.sys()));
  CHECK(nics == std::vector<Nic>{
                    {"mlx5_10", true, "0000:3b:00.0", {"ens3f0", "ens3f0v0"}},
                    {"rxe0", true, "", {}},
                    {"eth0", false, "0000:00:03.0", {"eth0"}},
                });
}

TEST_CASE("devices by vendor and class, and IOMMU groups") {
  FakeTree tree;
  for (const char* way : {"pci0000:3a/0000:3a:00.0/0000:3b:00.0", "pci0000:00/0000:00:03.0"}) {
    tree.pci(way);
  }
  tree.pciFile("0000:3b:00.0", "vendor", "0x10de");
  tree.pciFile("0000:3b:00.0", "class", "0x030200");
  tree.pciFile("0000:00:03.0", "vendor", "0x10de");
  tree.pciFile("0000:00:03.0", "class", "0x068000");  // a switch for NVLinks
  const Topology topology(tree.sys());
  CHECK(topology.devices("0x10de", "0x03") == std::vector<std::string>{"0000:3b:00.0"});
  CHECK(topology.iommuGroup("3b:00.0").empty());
  tree.write("sys/kernel/iommu_groups/17/type", "DMA-FQ");
  fs::create_directory_symlink(tree.sys() / "kernel/iommu_groups/17",
                               tree.sys() / "bus/pci/devices/0000:3b:00.0/iommu_group");
  CHECK(topology.iommuGroup("3b:00.0") == "17 (DMA-FQ)");
}
