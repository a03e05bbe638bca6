// SPDX-License-Identifier: Apache-2.0
// What an EFA adapter counted by kind of operation, against the payload of this lane. A write of
// the device comes from and goes to registered buffers of the user only; an emulated one is made
// of sends through buffers in host memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/evidence/observation.h"
#include "transports/libfabric/operation.h"

namespace gdrbench::libfabric {

using Counters = std::map<std::string, std::uint64_t, std::less<>>;

/// Payload of a lane. `back` is what was announced to it (op: write), received or fetched.
struct Payload {
  std::uint64_t out = 0, back = 0;
};

/// ports/1/hw_counters of a domain's device ("rdmap0s6-rdm" of the device rdmap0s6), each a number
/// in a file. Empty: there are none. Takes admin commands of the device: never while time is taken.
Counters readCounters(const std::filesystem::path& sys, std::string_view domain);

/// Of a one-sided operation. One observation for each way that had payload: out says what left
/// this side's memory, back what came into it.
std::vector<evidence::Observation> counterObservations(const Counters& before,
                                                       const Counters& after,
                                                       const Payload& payload, Op op);

}  // namespace gdrbench::libfabric
