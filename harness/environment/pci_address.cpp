// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/pci_address.h"

#include <fmt/format.h>

#include <charconv>

namespace gdrbench {
namespace {

/// Takes a hexadecimal number of at most `digits` digits from the front of `text`.
std::optional<unsigned> takeHex(std::string_view& text, std::size_t digits) {
  const std::string_view window = text.substr(0, digits);
  unsigned value = 0;
  const auto [end, failed] =
      std::from_chars(window.data(), window.data() + window.size(), value, 16);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - window.data()));
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::string> normalisedPciAddress(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool hasDomain = colon != text.npos && text.find(':', colon + 1) != text.npos;
  std::optional<unsigned> domain = 0;
  if (hasDomain) domain = takeHex(text, 8);
  if (!domain || (hasDomain && !take(text, ':'))) return std::nullopt;
  const auto bus = takeHex(text, 2);
  if (!bus || !take(text, ':')) return std::nullopt;
  const auto device = takeHex(text, 2);
  if (!device || !take(text, '.')) return std::nullopt;
  const auto function = takeHex(text, 1);
  if (!function || !text.empty() || *device > 31 || *function > 7) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", *domain, *bus, *device, *function);
}

}  // namespace gdrbench
