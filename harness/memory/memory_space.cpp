// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/memory_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/memory/host_space.h"

namespace gdrbench {
namespace {

constexpr std::string_view kCuda = "cuda:";

bool isHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// "0", "12": no leading zeros, which mean octal to some.
bool isIndex(std::string_view text) {
  const auto value = parseInteger(text);
  return value.ok() && *value >= 0 && text.size() <= 4 && text != "-0";
}

/// "GPU-8f6a3b1c-...", whole or its beginning, as the vendor's tools take it; MIG- for a part.
bool isUuid(std::string_view text) {
  if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return false;
  text.remove_prefix(4);
  return !text.empty() && text.size() <= 36 &&
         std::all_of(text.begin(), text.end(), [](char c) { return isHex(c) || c == '-'; });
}

/// "0000:3b:00.0", "3b:00.0": in a pattern of it, '#' stands for a hexadecimal digit.
bool isPciAddress(std::string_view text) {
  for (const std::string_view shape : {"##:##.#", "####:##:##.#", "########:##:##.#"}) {
    if (std::equal(text.begin(), text.end(), shape.begin(), shape.end(),
                   [](char c, char place) { return place == '#' ? isHex(c) : c == place; })) {
      return true;
    }
  }
  return false;
}

/// What may stand behind "cuda:".
bool namesDevice(std::string_view text) {
  return isIndex(text) || isUuid(text) || isPciAddress(text);
}

}  // namespace

std::string MemoryName::text() const {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kCuda:
      break;
  }
  return "cuda:" + device;
}

Result<MemoryName> parseMemoryName(std::string_view text) {
  if (text == "host") return MemoryName{MemoryKind::kHost, {}};
  if (text == "pinned") return MemoryName{MemoryKind::kPinned, {}};
  if (text.starts_with(kCuda) && namesDevice(text.substr(kCuda.size()))) {
    return MemoryName{MemoryKind::kCuda, std::string(text.substr(kCuda.size()))};
  }
  constexpr std::string_view kNames[] = {"host", "pinned", "cuda:0"};
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("'{}' names no memory{}", text, suggestion(text, kNames)),
               .next = "write host, pinned, or cuda: and an index, UUID or PCI address"};
}

Result<std::unique_ptr<MemorySpace>> openMemorySpace(const MemoryName& name,
                                                     std::uint64_t footprint) {
  if (name.kind == MemoryKind::kHost) return openHostSpace(footprint);
  return Error{.code = ErrorCode::kNotBuilt,
               .tried = fmt::format("use {} memory", name.text()),
               .nativeText = "this build has no CUDA memory"};
}

}  // namespace gdrbench
