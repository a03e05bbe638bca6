// SPDX-License-Identifier: Apache-2.0
// One port of one device, with the queue pairs of one conversation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/async_watch.h"
#include "transports/verbs/depths.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/gid.h"
#include "transports/verbs/peer.h"
#include "transports/verbs/platform.h"
#include "transports/verbs/queue_pair.h"
#include "transports/verbs/registration.h"
#include "transports/verbs/verbs_lane.h"

namespace gdrbench::verbs {

class VerbsEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(const Platform& platform,
                                                const OpenRequest& request);

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override;
  Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) override;
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override;
  [[nodiscard]] std::vector<Claim> claims() const override;
  [[nodiscard]] std::vector<evidence::Observation> observations() const override;

 private:
  VerbsEndpoint(const Platform& platform, const OpenRequest& request, OpenDevice device);

  // The steps of open(), in order.
  Status checkLimits();
  Status chooseAddress();
  Status createQueues();
  Status watchEvents();
  [[nodiscard]] std::uint32_t wantedInline() const;
  [[nodiscard]] std::uint32_t wantedMtu() const;

  [[nodiscard]] PeerInfo describe(const Region& source, const Region& target) const;

  // The steps of connect().
  Status arm(const PeerInfo& theirs, VerbsLane& lane);
  void discardCompletions();
  [[nodiscard]] std::unique_ptr<VerbsLane> makeLane(const PeerInfo& theirs, const Region& source,
                                                    const Region& target);
  void stopQueuePairs();

  Platform platform_;
  OpenRequest request_;
  PathOptions path_;
  OpenDevice device_;
  std::optional<GidChoice> gid_;
  bool globalRoute_ = false;
  Depths depths_;
  std::uint32_t inlineBytes_ = 0, mtu_ = 0, firstPacket_ = 0;
  std::optional<Registration> registration_;
  RegionFacts source_, target_;  ///< of the regions that were connected
  std::optional<PeerInfo> mine_, theirs_;

  // Made in this order, and undone in reverse.
  PdHandle pd_;
  CqHandle cq_;
  std::vector<NewQueuePair> queuePairs_;
  std::unique_ptr<AsyncWatch> watch_;
};

}  // namespace gdrbench::verbs
