// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/nvml_links.h"

#include <algorithm>

#include "harness/environment/pci_address.h"

namespace gdrbench::nvml {
namespace {

/// Counts one active link by what is at its other end.
void follow(Links& links, const Api& api, Device device, unsigned link) {
  int type = 0;
  if (api.linkRemoteType(device, link, &type) == kOk && type == kRemoteSwitch) {
    ++links.toSwitches;
    return;
  }
  PciInfo remote{};
  std::optional<std::string> address;
  if (api.linkRemotePci(device, link, &remote) == kOk) {
    remote.address[sizeof remote.address - 1] = '\0';
    address = normalisedPciAddress(remote.address);
  }
  if (address) {
    ++links.direct[*address];
  } else {
    ++links.toUnknown;
  }
}

int count(const std::map<std::string, int>& links, const std::string& address) {
  const auto found = links.find(address);
  return found == links.end() ? 0 : found->second;
}

}  // namespace

Links readLinks(const Api& api, Device device) {
  Links links;
  std::string refusal;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned on = 0;
    const int code = api.linkState(device, link, &on);
    if (code == kInvalidArgument && link > 0) break;  // past the last one
    if (code != kOk) {
      // Chips with some links cut off refuse those, and answer for later ones.
      if (refusal.empty()) refusal = api.why(api.linkState, code);
      continue;
    }
    links.active = links.active.value.value_or(0) + (on != 0 ? 1 : 0);
    if (on != 0) follow(links, api, device, link);
  }
  if (!links.active) links.active = Known<int>::unknown(refusal);
  return links;
}

void joinByLinks(GpuPair& pair, const std::string& pciA, const Links& a, const std::string& pciB,
                 const Links& b, bool nvlinkP2p) {
  if (!a.active || !b.active) {
    pair.nvlinks = Known<int>::unknown(a.active ? b.active.why : a.active.why);
    pair.route = NvlinkRoute::kUnknown;
    return;
  }
  const int direct = std::max(count(a.direct, pciB), count(b.direct, pciA));
  const int switched = std::min(a.toSwitches, b.toSwitches);
  const int hidden = nvlinkP2p ? std::min(*a.active, *b.active) : 0;
  if (direct > 0) {
    pair.route = NvlinkRoute::kDirect;
    pair.nvlinks = direct;
  } else if (switched > 0) {
    pair.route = NvlinkRoute::kSwitch;
    pair.nvlinks = switched;
  } else {
    pair.route = hidden > 0 ? NvlinkRoute::kUnknown : NvlinkRoute::kNone;
    pair.nvlinks = hidden;
  }
}

}  // namespace gdrbench::nvml
