// SPDX-License-Identifier: Apache-2.0
// What this transport needs of the world around it, so that tests can give it another.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "transports/verbs/calls.h"
#include "transports/verbs/registration.h"

namespace gdrbench::verbs {

struct Platform {
  Calls& calls;
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path dev = "/dev";
  DmaBufExporter exportDmaBuf;  ///< empty: this build cannot export GPU memory
  /// What the GPU's driver says of an address: see RegionFacts::pointer. Empty: nobody to ask.
  std::function<std::string(const std::byte*)> kindOfAddress;
};

}  // namespace gdrbench::verbs
