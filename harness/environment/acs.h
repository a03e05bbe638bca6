// SPDX-License-Identifier: Apache-2.0
// Access Control Services on the way from a device to its host bridge.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/environment/topology.h"

namespace gdrbench {

/// Whether peers behind one switch reach each other there, or by way of the host bridge: one
/// redirecting port on the way is enough.
struct AcsState {
  std::vector<std::string> redirecting;  ///< bridges
  std::string why;                       ///< some bridge cannot be asked; empty: all were

  bool operator==(const AcsState&) const = default;
};

AcsState acsAbove(std::string_view pci, const Topology& topology);

}  // namespace gdrbench
