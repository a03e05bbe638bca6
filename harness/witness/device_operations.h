// SPDX-License-Identifier: Apache-2.0
// Bytes by kind of operation, as Elastic Fabric Adapters count them. Private to harness/witness.
#pragma once

#include <span>
#include <vector>

#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {

/// Names in hw_counters of what is looked at; a device that has none of them has no such counters.
std::span<const char* const> operationCounters();

/// `flows` have the names of operationCounters(), and `bounds` are those of the port.
evidence::Observation operationsSeen(const Scene& scene, const Passage& passage,
                                     std::span<const Flow> flows, const Bounds& bounds);

}  // namespace gdrbench::witness
