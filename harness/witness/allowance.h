// SPDX-License-Identifier: Apache-2.0
// How much more than the payload a link may count. Private to harness/witness.
#pragma once

#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {

/// What is too small to be told from the harness's own messages and from what a counter leaves out.
inline constexpr std::uint64_t kTooSmall = std::uint64_t{64} << 10;

/// From here on a payload that a counter does not show was not there.
inline constexpr std::uint64_t kMissable = std::uint64_t{1} << 20;

/// A port or a network device: headers, acknowledgements of what came, the harness's messages. Both
/// workers of one host may share it, and then it counts both ways.
Bounds portBounds(const Passage& passage, const Payload& payload, const Scene& scene);

/// An NVLink of one GPU: only its own payload goes there, with flags. Counters of KiB are cut, one
/// for each of `links`: a little less than the payload may be all of it.
Bounds nvlinkBounds(const Passage& passage, const Payload& payload, std::size_t links);

}  // namespace gdrbench::witness
