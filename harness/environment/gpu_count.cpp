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

/// "nvidia0", not "nvidiactl" nor "nvidia-uvm".
bool isDevice(std::string_view name) {
  constexpr std::string_view kStem = "nvidia";
  return name.starts_with(kStem) && name.size() > kStem.size() &&
         name.find_first_not_of("0123456789", kStem.size()) == name.npos;
}

/// Some containers have the devices and not the driver's folder in /proc.
int presentIn(const std::string& root) {
  std::error_code none;
  const std::filesystem::directory_iterator driver(root + "/proc/driver/nvidia/gpus", none);
  if (!none) return static_cast<int>(std::distance(begin(driver), end(driver)));
  const std::filesystem::directory_iterator devices(root + "/dev", none);
  if (none) return 0;
  return static_cast<int>(std::count_if(begin(devices), end(devices), [](const auto& each) {
    return isDevice(each.path().filename().string());
  }));
}

}  // namespace

int visibleGpus(const std::string& root, std::optional<std::string_view> cudaVisibleDevices) {
  const int present = presentIn(root);
  return cudaVisibleDevices ? std::min(present, namedIn(*cudaVisibleDevices)) : present;
}

int visibleGpus() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visibleGpus(
      "", visible == nullptr ? std::optional<std::string_view>{} : std::string_view(visible));
}

}  // namespace gdrbench
