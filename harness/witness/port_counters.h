// SPDX-License-Identifier: Apache-2.0
// Bytes that passed the ports of RDMA devices, from sysfs. Private to harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

/// Conservation at the port that the transport names; with it, for devices that count bytes by
/// operation, what device_operations.h makes of these.
std::unique_ptr<Witness> portCounters(const Scene& scene, const Roots& roots, const Time& time);

}  // namespace gdrbench::witness
