// SPDX-License-Identifier: Apache-2.0
// The network devices of this machine, RDMA or not, from sysfs.
#pragma once

#include <string>
#include <vector>

#include "harness/environment/topology.h"

namespace gdrbench {

struct Nic {
  std::string name;  ///< "mlx5_0" where it has an RDMA device, "ens3f0" otherwise
  bool rdma = false;
  std::string pci;                   ///< empty: a software device
  std::vector<std::string> netdevs;  ///< of the same PCI function

  bool operator==(const Nic&) const = default;
};

/// RDMA devices first. Network devices without hardware (lo, bridges) are left out, software RDMA
/// devices are not: transports can use them.
std::vector<Nic> findNics(const Topology& topology);

}  // namespace gdrbench
