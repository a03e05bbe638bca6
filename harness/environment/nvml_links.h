// SPDX-License-Identifier: Apache-2.0
// NVLinks: where each of a GPU's links leads, and from that what joins two GPUs. Private to
// harness/environment.
#pragma once

#include <map>
#include <string>

#include "harness/environment/nvml_api.h"

namespace gdrbench::nvml {

struct Links {
  Known<int> active;
  std::map<std::string, int> direct;  ///< links to each PCI address that is not a switch
  int toSwitches = 0;
  int toUnknown = 0;  ///< virtual machines may hide what is at the other end
};
Links readLinks(const Api& api, Device device);

/// Fills `pair`'s links and route. `nvlinkP2p`: the driver says that peer access over NVLink works.
void joinByLinks(GpuPair& pair, const std::string& pciA, const Links& a, const std::string& pciB,
                 const Links& b, bool nvlinkP2p);

}  // namespace gdrbench::nvml
