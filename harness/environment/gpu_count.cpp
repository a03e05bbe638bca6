// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpu_count.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace gdrbench {
namespace {

/// "0,1": two; "" and "-1" hide all; what stands behind a -1 does not count.
int namedIn(std::string_view devices) {
  int count = 0;
  while (!devices.empty()) {
    const std::size_t comma = std::min(devices.find(','), devices.size());
    if (devices.substr(0, comma) == "-1") return count;
    if (comma != 0) ++count;
    devices.remove_prefix(std::min(comma + 1, devices.size()));
  }
  return count;
}

}  // namespace

int visibleGpus(const std::string& proc, std::optional<std::string_view> cudaVisibleDevices) {
  std::error_code none;
  const std::filesystem::directory_iterator gpus(proc, none);
  if (none) return 0;
  const auto present = static_cast<int>(std::distance(begin(gpus), end(gpus)));
  return cudaVisibleDevices ? std::min(present, namedIn(*cudaVisibleDevices)) : present;
}

int visibleGpus() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visibleGpus("/proc/driver/nvidia/gpus", visible == nullptr
                                                     ? std::optional<std::string_view>{}
                                                     : std::string_view(visible));
}

}  // namespace gdrbench
