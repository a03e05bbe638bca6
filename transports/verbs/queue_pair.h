// SPDX-License-Identifier: Apache-2.0
// A reliable connected queue pair and the steps that bring it to life.
#pragma once

#include <cstdint>

#include "harness/core/result.h"
#include "transports/verbs/depths.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/peer.h"

namespace gdrbench::verbs {

/// What options say about a connection.
struct PathOptions {
  std::uint8_t serviceLevel = 0, trafficClass = 0;
  std::uint16_t pkeyIndex = 0;
  std::uint8_t ackTimeout = 14, retries = 7, rnrRetries = 7, minRnrTimer = 12;
  static PathOptions from(const OptionSet& options);
};

struct NewQueuePair {
  QpHandle handle;
  std::uint32_t number = 0;
  std::uint32_t inlineBytes = 0;  ///< that it can take; at least what was asked for
};

Result<NewQueuePair> createQueuePair(Calls& calls, const OpenDevice& device, ibv_pd* pd, ibv_cq* cq,
                                     const Depths& depths, std::uint32_t inlineBytes);

/// The inline size that the device has for such a queue pair, at most `wanted`.
Result<NewQueuePair> createWithBestInline(Calls& calls, const OpenDevice& device, ibv_pd* pd,
                                          ibv_cq* cq, const Depths& depths, std::uint32_t wanted);

/// Forgets all work and all state.
Status reset(Calls& calls, ibv_qp* qp);

/// From reset: may take receives, and nothing else.
Status initialise(Calls& calls, ibv_qp* qp, const OpenDevice& device, const PathOptions& path);

/// From there: receives and sends, to and from one queue pair of the peer.
Status makeReady(Calls& calls, ibv_qp* qp, const OpenDevice& device, const PathOptions& path,
                 const PeerInfo& mine, const PeerInfo& theirs, std::size_t index);

}  // namespace gdrbench::verbs
