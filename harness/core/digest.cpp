// SPDX-License-Identifier: Apache-2.0
#include "harness/core/digest.h"

#include <fmt/format.h>

#include <cstdint>

namespace gdrbench {

std::string fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace gdrbench
