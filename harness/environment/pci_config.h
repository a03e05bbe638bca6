// SPDX-License-Identifier: Apache-2.0
// What a PCI function's configuration space says and sysfs has no file for. An unprivileged reader
// gets the first 64 bytes only, in which neither of these is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/environment/known.h"

namespace gdrbench {

class PciConfig {
 public:
  /// The `config` file of /sys/bus/pci/devices/<address>.
  explicit PciConfig(const std::filesystem::path& deviceFolder);
  explicit PciConfig(std::vector<std::uint8_t> bytes);

  /// Bytes of the largest read that the device asks for, and of the largest packet it sends.
  [[nodiscard]] Known<int> maxReadRequest() const;
  [[nodiscard]] Known<int> maxPayload() const;

  /// Access Control Services send traffic between peers up to the host bridge: request redirect,
  /// completion redirect or upstream forwarding is on. Without the capability: false.
  [[nodiscard]] Known<bool> acsRedirects() const;

 private:
  [[nodiscard]] std::optional<unsigned> word(std::size_t offset) const;
  [[nodiscard]] std::size_t expressCapability() const;
  [[nodiscard]] std::size_t extendedCapability(unsigned id) const;
  [[nodiscard]] std::string unreadable(std::size_t needed) const;
  [[nodiscard]] Known<int> sizeInDeviceControl(unsigned shift) const;

  std::vector<std::uint8_t> bytes_;
};

}  // namespace gdrbench
