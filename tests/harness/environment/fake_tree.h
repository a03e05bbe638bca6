// SPDX-License-Identifier: Apache-2.0
// Trees of files that stand for /sys, /proc and /dev, and go with the test.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/environment/files.h"

namespace gdrbench::test {
namespace fs = std::filesystem;

class FakeTree {
 public:
  FakeTree() {
    std::string name = (fs::temp_directory_path() / "gdrbench-environment-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() { fs::remove_all(root_); }

  [[nodiscard]] fs::path sys() const { return root_ / "sys"; }
  [[nodiscard]] Roots roots() const { return {sys(), root_ / "proc", root_ / "dev"}; }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text << '\n';
  }

  /// A PCI function by its way from the host bridge: "pci0000:3a/0000:3a:00.0/0000:3b:00.0".
  void pci(const std::string& way, int node = -1) const {
    const std::string folder = "sys/devices/" + way;
    write(folder + "/numa_node", std::to_string(node));
    const std::string address = fs::path(way).filename();
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_directory_symlink(root_ / folder, root_ / "sys/bus/pci/devices" / address);
  }

  /// A file of a PCI function that is there already.
  void pciFile(const std::string& address, const std::string& file, const std::string& text) const {
    write("sys/bus/pci/devices/" + address + "/" + file, text);
  }
  void link(const std::string& address, const std::string& speed, int width,
            const std::string& maxSpeed, int maxWidth) const {
    pciFile(address, "current_link_speed", speed);
    pciFile(address, "current_link_width", std::to_string(width));
    pciFile(address, "max_link_speed", maxSpeed);
    pciFile(address, "max_link_width", std::to_string(maxWidth));
  }
  void config(const std::string& address, const std::vector<std::uint8_t>& bytes) const {
    std::ofstream file(root_ / "sys/bus/pci/devices" / address / "config", std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  /// "class/net/eth0", which belongs to a PCI function, by way of `between` ("virtio0").
  void ofClass(const std::string& path, const std::string& address,
               const std::string& between = "") const {
    const fs::path device = fs::canonical(root_ / "sys/bus/pci/devices" / address) / between;
    fs::create_directories(device);
    fs::create_directories(root_ / "sys" / path);
    fs::create_directory_symlink(device, root_ / "sys" / path / "device");
  }

  void node(int number, const std::string& cpus, const std::string& distances) const {
    const std::string folder = fmt::format("sys/devices/system/node/node{}/", number);
    write(folder + "cpulist", cpus);
    write(folder + "distance", distances);
  }
  void cpu(int number, int socket, int core) const {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/topology/", number);
    write(folder + "physical_package_id", std::to_string(socket));
    write(folder + "core_id", std::to_string(core));
  }

 private:
  fs::path root_;
};

/// Configuration space of a PCI Express function. `size`: as much of it as a reader gets.
struct FakeConfig {
  unsigned readRequestCode = 2;  ///< 512 B
  unsigned payloadCode = 1;      ///< 256 B
  bool express = true;
  bool acs = false;
  unsigned acsControl = 0;
  std::size_t size = 4096;

  [[nodiscard]] std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> all(4096);
    all[0x00] = 0xDE;
    all[0x01] = 0x10;
    all[0x06] = 0x10;  // there is a list of capabilities
    all[0x34] = 0x60;
    all[0x60] = 0x01;  // power management, then Express at 0x78
    all[0x61] = express ? 0x78 : 0x00;
    if (express) {
      all[0x78] = 0x10;
      all[0x80] = static_cast<std::uint8_t>(payloadCode << 5);
      all[0x81] = static_cast<std::uint8_t>(readRequestCode << 4);
    }
    all[0x100] = 0x01;  // error reporting, then ACS at 0x148
    all[0x102] = 0x01;
    if (acs) {
      all[0x102] = 0x81;
      all[0x103] = 0x14;
      all[0x148] = 0x0D;
      all[0x14A] = 0x01;
      all[0x14E] = static_cast<std::uint8_t>(acsControl);
    }
    all.resize(size);
    return all;
  }
};

/// Eight GPUs on two sockets, in pairs behind one switch with a NIC, as in common servers: buses
/// 1b, 1c, ... of host bridges 1a, 2a (socket 0) and 9a, aa (socket 1). CPUs 0-7 and 8-15; core c
/// has the hardware threads c and c + 4 of its socket.
struct TwoSockets : FakeTree {
  static constexpr const char* kBridges[] = {"1a", "2a", "9a", "aa"};
  std::vector<std::string> gpus;

  TwoSockets() {
    node(0, "0-7", "10 21");
    node(1, "8-15", "21 10");
    for (int each = 0; each < 16; ++each) cpu(each, each / 8, each % 4);
    for (int i = 0; i < 4; ++i) addSwitch(kBridges[i], i / 2, i);
  }

  void addSwitch(const std::string& bus, int socket, int number) {
    const std::string port = fmt::format("pci0000:{0}/0000:{0}:01.0", bus);
    const std::string top = port + fmt::format("/0001:{}:00.0", bus);  // upstream port
    pci(port, socket);
    pci(top, socket);
    for (int slot = 0; slot < 3; ++slot) {
      const std::string leg = top + fmt::format("/0002:{}:{:02x}.0", bus, slot * 4);
      const std::string device = fmt::format("0003:{}:{:02x}.0", bus, slot);
      pci(leg, socket);
      pci(leg + "/" + device, socket);
      pciFile(device, "local_cpulist", socket == 0 ? "0-7" : "8-15");
      if (slot < 2) {
        gpus.push_back(device);
      } else {
        ofClass(fmt::format("class/infiniband/mlx5_{}", number), device);
        ofClass(fmt::format("class/net/ens{}", number), device);
      }
    }
  }
};

}  // namespace gdrbench::test
