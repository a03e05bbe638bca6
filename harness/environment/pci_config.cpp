// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/pci_config.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace gdrbench {
namespace {

// Offsets and bits of the PCI Express base specification.
constexpr std::size_t kStatus = 0x06;
constexpr unsigned kHasCapabilities = 1U << 4;
constexpr std::size_t kFirstCapability = 0x34;
constexpr unsigned kExpress = 0x10;
constexpr std::size_t kDeviceControl = 8;  // in the Express capability
constexpr unsigned kPayloadShift = 5;
constexpr unsigned kReadRequestShift = 12;
constexpr std::size_t kExtended = 0x100;
constexpr unsigned kAcs = 0x0D;
constexpr std::size_t kAcsControl = 6;            // in the ACS capability
constexpr unsigned kRedirects = 0b11100;          // request, completion, upstream forwarding
constexpr std::size_t kUnprivileged = 64;         // bytes that anyone may read
constexpr std::size_t kConventional = kExtended;  // bytes of a space without extensions
constexpr int kMostCapabilities = 64;             // a list that is longer runs in circles

std::vector<std::uint8_t> bytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

PciConfig::PciConfig(const std::filesystem::path& deviceFolder)
    : bytes_(bytesOf(deviceFolder / "config")) {}

PciConfig::PciConfig(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}

std::optional<unsigned> PciConfig::word(std::size_t offset) const {
  if (offset + 1 >= bytes_.size()) return std::nullopt;
  return static_cast<unsigned>(bytes_[offset] | bytes_[offset + 1] << 8);
}

/// Why `needed` bytes are not there; empty when they are.
std::string PciConfig::unreadable(std::size_t needed) const {
  if (bytes_.empty()) return "configuration space cannot be read";
  if (word(0) == 0xFFFFU) return "the device does not answer";  // lost, or powered down
  if (bytes_.size() >= needed) return "";
  if (bytes_.size() <= kUnprivileged) return "unprivileged";
  return "no extended configuration space";
}

/// Offset of the Express capability; 0: none.
std::size_t PciConfig::expressCapability() const {
  if ((word(kStatus).value_or(0) & kHasCapabilities) == 0) return 0;
  std::size_t at = word(kFirstCapability).value_or(0) & 0xFCU;
  for (int i = 0; at >= kUnprivileged && i < kMostCapabilities; ++i) {
    const unsigned header = word(at).value_or(0);
    if ((header & 0xFFU) == kExpress) return at;
    at = (header >> 8) & 0xFCU;
  }
  return 0;
}

/// Offset of an extended capability; 0: none.
std::size_t PciConfig::extendedCapability(unsigned id) const {
  std::size_t at = kExtended;
  for (int i = 0; at >= kExtended && i < kMostCapabilities; ++i) {
    const auto here = word(at);
    const auto link = word(at + 2);
    if (!here || !link) return 0;
    if (*here == id) return at;
    at = (*link >> 4) & 0xFFCU;
  }
  return 0;
}

Known<int> PciConfig::sizeInDeviceControl(unsigned shift) const {
  if (std::string why = unreadable(kConventional); !why.empty()) {
    return Known<int>::unknown(std::move(why));
  }
  const std::size_t express = expressCapability();
  const auto control = express == 0 ? std::nullopt : word(express + kDeviceControl);
  if (!control) return Known<int>::unknown("no PCI Express capability");
  const unsigned code = (*control >> shift) & 7U;
  if (code > 5) return Known<int>::unknown(fmt::format("reserved code {}", code));
  return 128 << code;
}

Known<int> PciConfig::maxReadRequest() const {
  return sizeInDeviceControl(kReadRequestShift);
}
Known<int> PciConfig::maxPayload() const {
  return sizeInDeviceControl(kPayloadShift);
}

Known<bool> PciConfig::acsRedirects() const {
  if (std::string why = unreadable(kConventional + 1); !why.empty()) {
    return Known<bool>::unknown(std::move(why));
  }
  const std::size_t acs = extendedCapability(kAcs);
  if (acs == 0) return false;
  const auto control = word(acs + kAcsControl);
  if (!control) return Known<bool>::unknown("the capability is cut off");
  return (*control & kRedirects) != 0;
}

}  // namespace gdrbench
