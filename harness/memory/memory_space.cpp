// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/memory_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/memory/host_space.h"

namespace gdrbench {
namespace {

constexpr std::string_view kCuda = "cuda:";

/// "0", "GPU-8f6a...", "0000:3b:00.0": what may stand behind "cuda:".
bool namesDevice(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == ':' || c == '.';
  });
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
