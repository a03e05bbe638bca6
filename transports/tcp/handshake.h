// SPDX-License-Identifier: Apache-2.0
// From addresses to one connected socket on each side. The responder listens; the initiator
// connects, presents the cookie of the responder's address and is welcomed. Whoever else connects
// is turned away, and the responder goes on waiting.
#pragma once

#include "transports/cookie.h"
#include "transports/tcp/socket.h"

namespace gdrbench::tcp {

/// What the initiator presents. A peer of the other byte order shows a magic that is not ours.
struct Hello {
  static constexpr std::uint64_t kMagic = 0x3170637472646711;
  std::uint64_t magic = kMagic;
  std::uint64_t version = 1;
  Cookie cookie{};
};
/// The responder's answer.
inline constexpr std::uint64_t kWelcome = 0x656d6f636c657711;

struct AcceptedPeer {
  Socket socket;
  int turnedAway = 0;  ///< clients that did not present the cookie
};

Result<AcceptedPeer> acceptPeer(const Socket& listener, const Cookie& cookie, Deadline deadline);

Result<Socket> connectToPeer(const SocketAddress& peer, const Cookie& cookie,
                             const SocketSettings& settings, Deadline deadline);

}  // namespace gdrbench::tcp
