// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/acs.h"

#include "harness/environment/pci_config.h"

namespace gdrbench {

AcsState acsAbove(std::string_view pci, const Topology& topology) {
  if (topology.flat(pci)) return {.redirecting = {}, .why = "no bridge is visible"};
  const std::vector<std::string> bridges = topology.bridgesAbove(pci);
  if (bridges.empty()) return {.redirecting = {}, .why = "not in sysfs"};
  AcsState acs;
  for (const std::string& bridge : bridges) {
    const auto redirects = PciConfig(topology.folder(bridge)).acsRedirects();
    if (!redirects) {
      acs.why = redirects.why;
    } else if (*redirects) {
      acs.redirecting.push_back(bridge);
    }
  }
  return acs;
}

}  // namespace gdrbench
