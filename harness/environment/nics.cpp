// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/nics.h"

#include <algorithm>

#include "harness/environment/files.h"

namespace gdrbench {

std::vector<Nic> findNics(const Topology& topology) {
  std::vector<Nic> nics;
  for (const std::string& each : namesIn(topology.sys() / "class/infiniband")) {
    nics.push_back({.name = each, .rdma = true, .pci = topology.pciOf("class/infiniband/" + each)});
  }
  for (const std::string& each : namesIn(topology.sys() / "class/net")) {
    const std::string pci = topology.pciOf("class/net/" + each);
    if (pci.empty()) continue;
    const auto known = std::find_if(nics.begin(), nics.end(),
                                    [&](const Nic& nic) { return nic.rdma && nic.pci == pci; });
    if (known != nics.end()) {
      known->netdevs.push_back(each);
    } else {
      nics.push_back({.name = each, .pci = pci, .netdevs = {each}});
    }
  }
  return nics;
}

}  // namespace gdrbench
