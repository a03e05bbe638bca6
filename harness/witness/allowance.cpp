// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/allowance.h"

#include <algorithm>

namespace gdrbench::witness {
namespace {

/// Of each message, either way: headers of its last packet, its acknowledgement, a flag or a
/// credit.
constexpr std::uint64_t kPerMessage = 512;

/// Cut or not, most of the payload has to be there.
constexpr std::uint64_t kMostCut = 3;

std::uint64_t above(std::uint64_t bytes, std::uint64_t partOf, const Payload& payload) {
  const std::uint64_t messages = plus(payload.sentMessages, payload.receivedMessages);
  return plus(plus(bytes, bytes / partOf), plus(times(kPerMessage, messages), kTooSmall));
}

}  // namespace

Bounds portBounds(const Passage& passage, const Payload& payload, const Scene& scene) {
  // The smallest packets that RDMA knows hold 256 bytes, and their headers at most 64 or so.
  constexpr std::uint64_t kHeaders = 4;
  const std::uint64_t carried =
      scene.peerOnThisHost ? plus(payload.sentBytes, payload.receivedBytes) : passage.bytes;
  return {passage.bytes, above(carried, kHeaders, payload)};
}

Bounds nvlinkBounds(const Passage& passage, const Payload& payload, std::size_t links) {
  constexpr std::uint64_t kExcess = 10;  // data only, no headers: seen to be exact
  // Low-latency protocols write a flag with each 4 or 8 bytes, so that as much again goes over.
  const std::uint64_t withFlags = plus(passage.bytes, passage.bytes);
  constexpr std::uint64_t kKib = 1024;
  const std::uint64_t cut = std::min(times(kKib, links), passage.bytes / kMostCut);
  return {passage.bytes - cut, above(withFlags, kExcess, payload)};
}

}  // namespace gdrbench::witness
