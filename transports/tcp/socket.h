// SPDX-License-Identifier: Apache-2.0
// A socket that closes itself, addresses as text, and what every socket of this transport is set
// to.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/transport.h"

namespace gdrbench::tcp {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  void close() noexcept;

 private:
  int fd_;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* raw() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void setPort(std::uint16_t port) noexcept;
  [[nodiscard]] std::string host() const;  ///< "127.0.0.1", "::1"
  [[nodiscard]] std::string text() const;  ///< "127.0.0.1:80", "[::1]:80"
  [[nodiscard]] bool isLoopback() const noexcept;
  [[nodiscard]] bool isWildcard() const noexcept;
  [[nodiscard]] bool isLinkLocal() const noexcept;
  [[nodiscard]] bool sameHost(const SocketAddress& other) const noexcept;
};

/// An IPv4 or IPv6 literal; nothing for anything else.
std::optional<SocketAddress> parseLiteral(std::string_view text);

/// An IP literal, or the first address of an interface of that name. An error lists the
/// interfaces.
Result<SocketAddress> resolve(const std::string& addressOrInterface);

SocketAddress localAddress(const Socket& socket);
SocketAddress peerAddress(const Socket& socket);

/// Values asked for; 0 leaves the system's.
struct SocketSettings {
  std::int64_t sendBuffer = 0;
  std::int64_t receiveBuffer = 0;
  std::int64_t busyPollNs = 0;
  static SocketSettings of(const OptionSet& options);
};

/// A non-blocking stream socket, set as wanted. Sizes must be set before listen and connect,
/// because the window scale is agreed on with the first packet.
Result<Socket> openSocket(int family, const SocketSettings& settings);

/// Listening at `address`; its port may be 0. The error names address and port.
Result<Socket> listenAt(const SocketAddress& address, const SocketSettings& settings);

/// Until a deadline, in poll's milliseconds; at least 0.
int millisecondsUntil(Deadline deadline);

}  // namespace gdrbench::tcp
