// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "transports/tcp/interfaces.h"

namespace gdrbench::tcp {
namespace {

const sockaddr_in& v4(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address.storage);
}
const sockaddr_in6& v6(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in6&>(address.storage);
}

Status set(const Socket& socket, int level, int option, int value, const std::string& what,
           std::string next = {}) {
  if (setsockopt(socket.fd(), level, option, &value, sizeof(value)) == 0) return Done{};
  return systemError("set " + what, errno, std::move(next));
}

}  // namespace

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::uint16_t SocketAddress::port() const noexcept {
  return ntohs(family() == AF_INET6 ? v6(*this).sin6_port : v4(*this).sin_port);
}

void SocketAddress::setPort(std::uint16_t port) noexcept {
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
  }
}

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "?";
  const void* bytes = family() == AF_INET6 ? static_cast<const void*>(&v6(*this).sin6_addr)
                                           : static_cast<const void*>(&v4(*this).sin_addr);
  inet_ntop(family(), bytes, text, sizeof(text));
  return text;
}

std::string SocketAddress::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host(), port())
                              : fmt::format("{}:{}", host(), port());
}

bool SocketAddress::isLoopback() const noexcept {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&v6(*this).sin6_addr);
  return (ntohl(v4(*this).sin_addr.s_addr) >> 24) == 127;
}

bool SocketAddress::isWildcard() const noexcept {
  if (family() == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&v6(*this).sin6_addr);
  return v4(*this).sin_addr.s_addr == INADDR_ANY;
}

bool SocketAddress::isLinkLocal() const noexcept {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6(*this).sin6_addr);
}

bool SocketAddress::sameHost(const SocketAddress& other) const noexcept {
  if (family() != other.family()) return false;
  if (family() == AF_INET6) {
    return std::memcmp(&v6(*this).sin6_addr, &v6(other).sin6_addr, sizeof(in6_addr)) == 0;
  }
  return v4(*this).sin_addr.s_addr == v4(other).sin_addr.s_addr;
}

std::optional<SocketAddress> parseLiteral(std::string_view text) {
  const std::string copy(text);
  SocketAddress address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, copy.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    address.length = sizeof(sockaddr_in);
    return address;
  }
  if (inet_pton(AF_INET6, copy.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    address.length = sizeof(sockaddr_in6);
    return address;
  }
  return std::nullopt;
}

Result<SocketAddress> resolve(const std::string& addressOrInterface) {
  if (std::optional<SocketAddress> literal = parseLiteral(addressOrInterface)) return *literal;
  std::vector<std::string> names;
  for (const Interface& each : interfaces()) {
    if (each.name == addressOrInterface && !each.address.isLinkLocal()) return each.address;
    if (std::find(names.begin(), names.end(), each.name) == names.end()) {
      names.push_back(each.name);
    }
  }
  return Error{.code = ErrorCode::kNotFound,
               .tried = fmt::format("find an interface '{}' with an address: this host has {}",
                                    addressOrInterface, listed(names)),
               .next = "give an IP address or the name of an interface"};
}

SocketAddress localAddress(const Socket& socket) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return address;
}

SocketAddress peerAddress(const Socket& socket) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return address;
}

SocketSettings SocketSettings::of(const OptionSet& options) {
  return {.sendBuffer = options.integer("send_buffer"),
          .receiveBuffer = options.integer("receive_buffer"),
          .busyPollNs = options.integer("busy_poll")};
}

Result<Socket> openSocket(int family, const SocketSettings& settings) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) {
    const bool six = family == AF_INET6;
    return systemError(six ? "open an IPv6 socket" : "open a TCP socket", errno,
                       six ? "IPv6 seems to be off on this host: use an IPv4 address" : "");
  }
  Status done = set(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  if (done && settings.sendBuffer != 0) {
    done = set(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(settings.sendBuffer),
               "send_buffer to " + formatSize(static_cast<std::uint64_t>(settings.sendBuffer)));
  }
  if (done && settings.receiveBuffer != 0) {
    done =
        set(socket, SOL_SOCKET, SO_RCVBUF, static_cast<int>(settings.receiveBuffer),
            "receive_buffer to " + formatSize(static_cast<std::uint64_t>(settings.receiveBuffer)));
  }
  if (done && settings.busyPollNs != 0) {
    done = set(socket, SOL_SOCKET, SO_BUSY_POLL, static_cast<int>(settings.busyPollNs / 1000),
               "busy_poll to " + durationLiteral(settings.busyPollNs),
               "it needs CAP_NET_ADMIN above net.core.busy_read: raise that, or set busy_poll: 0");
  }
  if (!done) return done.error();
  return socket;
}

Result<Socket> listenAt(const SocketAddress& address, const SocketSettings& settings) {
  Result<Socket> socket = openSocket(address.family(), settings);
  if (!socket) return socket;
  // The last case's connections may still be in TIME_WAIT on a fixed port. A listener on the port
  // is an error all the same.
  Status reuse = set(*socket, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (!reuse) return reuse.error();
  if (bind(socket->fd(), address.raw(), address.length) == 0 && listen(socket->fd(), 16) == 0) {
    return socket;
  }
  const int error = errno;
  std::string next;
  if (error == EADDRINUSE) {
    next = "another process has this port: choose another, or port: 0 to let the kernel choose";
  } else if (error == EADDRNOTAVAIL) {
    next = "address: must be an address of the responder's host";
  } else if (error == EACCES) {
    next = "ports below 1024 are privileged: choose another";
  }
  return systemError("listen at " + address.text(), error, std::move(next));
}

int millisecondsUntil(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

}  // namespace gdrbench::tcp
