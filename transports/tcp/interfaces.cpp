// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>
#include <fstream>

namespace gdrbench::tcp {

std::vector<Interface> interfaces() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Interface entry{.name = each->ifa_name, .up = (each->ifa_flags & IFF_UP) != 0};
    entry.address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&entry.address.storage, each->ifa_addr, entry.address.length);
    found.push_back(std::move(entry));
  }
  freeifaddrs(list);
  return found;
}

Carrier carrierOf(const SocketAddress& local, const SocketAddress& peer) {
  std::string ofLocal, loopback = "lo";
  bool own = peer.isLoopback();
  for (const Interface& each : interfaces()) {
    if (each.address.isLoopback()) loopback = each.name;
    if (each.address.sameHost(peer)) own = true;
    if (each.address.sameHost(local)) ofLocal = each.name;
  }
  return {.interface = own ? loopback : ofLocal, .loopback = own};
}

std::string speed(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  long megabits = 0;
  // -1, or an error at the read: virtual interfaces and links that are down.
  if (!(file >> megabits) || megabits <= 0) return {};
  return std::to_string(megabits) + " Mb/s";
}

}  // namespace gdrbench::tcp
