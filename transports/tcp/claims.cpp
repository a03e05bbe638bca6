// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/claims.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "harness/core/units.h"
#include "transports/tcp/interfaces.h"

namespace gdrbench::tcp {
namespace {

int get(const Socket& socket, int level, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  return getsockopt(socket.fd(), level, option, &value, &length) == 0 ? value : 0;
}

/// The kernel doubles what is asked for, caps it at net.core.?mem_max, and reports the double.
std::string bufferText(int effective, std::int64_t requested) {
  const std::string text = formatSize(static_cast<std::uint64_t>(effective));
  if (requested == 0) return text + ", grows as the kernel sees fit";
  const bool capped = effective < 2 * requested;
  return fmt::format("{} with the kernel's overhead, requested {}{}", text,
                     formatSize(static_cast<std::uint64_t>(requested)),
                     capped ? ", capped by net.core limits" : "");
}

std::string congestionControl(const Socket& socket) {
  char name[32] = {};
  socklen_t length = sizeof(name) - 1;
  if (getsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "unknown";
  return name;
}

}  // namespace

std::vector<Claim> claimsOf(const Socket& socket, const SocketSettings& requested) {
  const SocketAddress local = localAddress(socket), peer = peerAddress(socket);
  const Carrier carrier = carrierOf(local, peer);
  const std::string& interface = carrier.interface;
  std::vector<Claim> claims = {
      {.key = "medium",
       .value = carrier.loopback ? "loopback interface" : "network interface",
       .mustAgree = true},
      {.key = "interface", .value = interface.empty() ? "unknown" : interface},
      {.key = "local_address", .value = local.text()},
      {.key = "peer_address", .value = peer.text()},
      {.key = "mss", .value = std::to_string(get(socket, IPPROTO_TCP, TCP_MAXSEG))},
      {.key = "congestion_control", .value = congestionControl(socket)},
      {.key = "send_buffer",
       .value = bufferText(get(socket, SOL_SOCKET, SO_SNDBUF), requested.sendBuffer)},
      {.key = "receive_buffer",
       .value = bufferText(get(socket, SOL_SOCKET, SO_RCVBUF), requested.receiveBuffer)},
      {.key = "busy_poll", .value = fmt::format("{} us", get(socket, SOL_SOCKET, SO_BUSY_POLL))},
  };
  if (const std::string rate = speed(interface); !rate.empty()) {
    claims.push_back({.key = "interface_speed", .value = rate});
  }
  return claims;
}

}  // namespace gdrbench::tcp
