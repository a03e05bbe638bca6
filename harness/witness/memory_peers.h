// SPDX-License-Identifier: Apache-2.0
// Registrations of peer memory, as the RDMA core of OFED and DOCA counts them. Private to
// harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

/// Counts from here on: make it before memory is registered.
std::unique_ptr<Witness> memoryPeers(const Scene& scene, const Roots& roots);

}  // namespace gdrbench::witness
