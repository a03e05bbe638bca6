// SPDX-License-Identifier: Apache-2.0
// Any text for the kernel's words about a descriptor.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "transports/verbs/path_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gdrbench::verbs::RegionFacts facts;
  gdrbench::verbs::readFdInfo({reinterpret_cast<const char*>(data), size}, facts);
  if (facts.exporter.size() > 64) std::abort();
  return 0;
}
