// SPDX-License-Identifier: Apache-2.0
// Which device and which port: what was asked for, or an error that lists what there is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "transports/verbs/platform.h"

namespace gdrbench::verbs {

struct DeviceEntry {
  ibv_device* handle = nullptr;
  std::string name;                     ///< "mlx5_0"
  std::string pciAddress;               ///< "0000:3b:00.0"; empty: not on a PCI bus (soft-RoCE)
  std::filesystem::path path;           ///< of the PCI device in sysfs; empty as above
  std::vector<std::string> interfaces;  ///< its network interfaces

  /// "mlx5_0 (0000:3b:00.0, eth2)".
  [[nodiscard]] std::string text() const;
};

/// All devices. An error says that there is none, and what to look for.
class DeviceList {
 public:
  static Result<DeviceList> read(const Platform& platform);
  DeviceList(DeviceList&& other) noexcept;
  DeviceList& operator=(DeviceList&&) = delete;
  ~DeviceList();

  [[nodiscard]] std::span<const DeviceEntry> entries() const { return entries_; }

 private:
  DeviceList(Calls& calls, ibv_device** list) : calls_(calls), list_(list) {}
  Calls& calls_;
  ibv_device** list_;
  std::vector<DeviceEntry> entries_;
};

enum class LinkLayer : std::uint8_t { kInfiniBand, kEthernet };
std::string_view name(LinkLayer layer);

struct Port {
  std::uint8_t number = 1;
  LinkLayer link = LinkLayer::kEthernet;
  bool up = false;
  std::string state;  ///< "ACTIVE", "DOWN"
  std::uint32_t activeMtu = 0;
  std::uint16_t lid = 0;
  std::uint64_t maxMessage = 0;
  double gigabitsPerSecond = 0;
};

struct Limits {
  std::uint32_t workRequests = 0;  ///< of one queue
  std::uint32_t completions = 0;   ///< of one completion queue
  std::uint32_t readsAsInitiator = 0, readsAsTarget = 0;
  std::string firmware;
};

/// A device that is open, with the port to use.
struct OpenDevice {
  DeviceEntry entry;
  std::string reason;     ///< why this one
  std::string interface;  ///< the one that the user named it by; empty: by another name
  ContextHandle context;
  Limits limits;
  Port port;
  [[nodiscard]] std::string where() const;  ///< "port 1 of mlx5_0"
};

struct DeviceRequest {
  std::string device = "auto";  ///< as in the option
  std::uint8_t port = 0;
  std::string gpuPciAddress;  ///< of the memory's GPU; empty: host memory
};

Result<OpenDevice> openDevice(const Platform& platform, const DeviceRequest& request);

/// How far apart two PCI devices are: levels up to their common bridge; large: none in common.
int pciDistance(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace gdrbench::verbs
