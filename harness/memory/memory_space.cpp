// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/memory_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/memory/cuda_space.h"
#include "harness/memory/host_space.h"
#include "harness/memory/pinned_space.h"

namespace gdrbench {
namespace {

constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kPinned = "pinned:";

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
      return device.empty() ? "pinned" : "pinned:" + device;
    case MemoryKind::kCuda:
      break;
  }
  return "cuda:" + device;
}

Result<MemoryName> parseMemoryName(std::string_view text) {
  if (text == "host") return MemoryName{MemoryKind::kHost, {}};
  if (text == "pinned") return MemoryName{MemoryKind::kPinned, {}};
  if (text.starts_with(kPinned) && namesDevice(text.substr(kPinned.size()))) {
    return MemoryName{MemoryKind::kPinned, std::string(text.substr(kPinned.size()))};
  }
  if (text.starts_with(kCuda) && namesDevice(text.substr(kCuda.size()))) {
    return MemoryName{MemoryKind::kCuda, std::string(text.substr(kCuda.size()))};
  }
  constexpr std::string_view kNames[] = {"host", "pinned", "cuda:0", "gpu-pairs", "host-gpus"};
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("'{}' names no memory{}", text, suggestion(text, kNames)),
               .next =
                   "write host, pinned, cuda: and an index, UUID or PCI address, gpu-pairs or "
                   "host-gpus"};
}

Result<std::unique_ptr<MemorySpace>> openMemorySpace(const MemoryName& name,
                                                     const MemoryRequest& request) {
  switch (name.kind) {
    case MemoryKind::kHost:
      return openHostSpace(request.bothBytes);
    case MemoryKind::kPinned:
      return openPinnedSpace(name, request);
    case MemoryKind::kCuda:
      break;
  }
  return openCudaSpace(name, request);
}

}  // namespace gdrbench
