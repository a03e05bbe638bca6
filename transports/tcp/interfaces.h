// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this host, as far as this transport reports them.
#pragma once

#include <string>
#include <vector>

#include "transports/tcp/socket.h"

namespace gdrbench::tcp {

/// One address of one interface.
struct Interface {
  std::string name;
  SocketAddress address;
  bool up = false;
};

std::vector<Interface> interfaces();

struct Carrier {
  std::string interface;  ///< empty when it cannot be told
  bool loopback = false;
};

/// What carries a connection: the loopback interface whenever the peer's address is one of this
/// host, whatever interface that address belongs to.
Carrier carrierOf(const SocketAddress& local, const SocketAddress& peer);

/// "25000 Mb/s", or empty where the driver does not say.
std::string speed(const std::string& interface);

}  // namespace gdrbench::tcp
