// SPDX-License-Identifier: Apache-2.0
// What one side tells the other before they connect, and whether the two go together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "transports/transport.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/gid.h"

namespace gdrbench::verbs {

struct PeerInfo {
  std::string device;
  LinkLayer link = LinkLayer::kEthernet;
  std::uint16_t lid = 0;
  bool globalRoute = false;  ///< `gid` is in use
  Gid gid;
  std::uint32_t mtu = 0;  ///< the largest that this side takes
  bool mtuAsked = false;  ///< by the option, not by the port
  std::uint32_t readsAsTarget = 0;
  std::uint32_t firstPacket = 0;  ///< sequence number
  std::uint64_t target = 0, source = 0;
  std::uint32_t targetKey = 0, sourceKey = 0;
  std::vector<std::uint32_t> queuePairs;

  /// "mlx5_0 (3: RoCE v2, 10.1.2.3 on eth2; queue pair 0x12)".
  [[nodiscard]] std::string text() const;
};

Bytes encode(const PeerInfo& info);
Result<PeerInfo> decodePeer(std::span<const std::byte> bytes);

/// Refuses pairs that could only end in a time-out, with both sides' values.
Status checkPair(const PeerInfo& mine, const PeerInfo& theirs);

/// Of the path, once checkPair() is content.
std::uint32_t agreedMtu(const PeerInfo& mine, const PeerInfo& theirs);

}  // namespace gdrbench::verbs
