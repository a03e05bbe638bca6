// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/tcp_transport.h"

#include <fmt/format.h>

#include <cstring>

#include "transports/host_region.h"
#include "transports/tcp/claims.h"
#include "transports/tcp/handshake.h"
#include "transports/tcp/interfaces.h"
#include "transports/tcp/tcp_lane.h"

namespace gdrbench::tcp {
namespace {

constexpr Option kOptions[] = {
    {.name = "address",
     .type = OptionType::kText,
     .fallback = "127.0.0.1",
     .help = "IP address, or name of the interface, that the responder listens on"},
    {.name = "port",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 65535,
     .help = "port that the responder listens on; 0 lets the kernel choose"},
    {.name = "send_buffer",
     .type = OptionType::kSize,
     .fallback = "0",
     .min = 0,
     .max = 1 << 30,
     .help = "SO_SNDBUF of both sides; 0 leaves it to the kernel"},
    {.name = "receive_buffer",
     .type = OptionType::kSize,
     .fallback = "0",
     .min = 0,
     .max = 1 << 30,
     .help = "SO_RCVBUF of both sides; 0 leaves it to the kernel"},
    {.name = "busy_poll",
     .type = OptionType::kDuration,
     .fallback = "0",
     .min = 0,
     .max = 1e9,
     .help = "SO_BUSY_POLL, whole microseconds: spin on the device queue; 0 leaves it off"},
};

/// What the responder says to the initiator, as bytes.
struct WireAddress {
  static constexpr std::uint32_t kMagic = 0x74726467;  // "gdrt"
  std::uint32_t magic = kMagic;
  std::uint32_t listening = 0;
  Cookie cookie{};
  SocketAddress at;
};

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(const LaneSpec& spec, const SocketSettings& settings)
      : spec_(spec), settings_(settings) {}

  Status listen(const SocketAddress& address) {
    Result<Cookie> cookie = randomCookie();
    if (!cookie) return cookie.error();
    Result<Socket> listener = listenAt(address, settings_);
    if (!listener) return listener.error();
    cookie_ = *cookie;
    listener_ = *std::move(listener);
    return Done{};
  }

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    return registerHostMemory("tcp", buffer);
  }

  Result<Bytes> address(const MemoryRegion&, const MemoryRegion&) override {
    WireAddress mine;
    if (listening()) {
      mine.listening = 1;
      mine.cookie = cookie_;
      mine.at = localAddress(listener_);
    }
    Bytes bytes(sizeof(mine));
    std::memcpy(bytes.data(), &mine, sizeof(mine));
    return bytes;
  }

  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override {
    Result<HostRegion*> from = HostRegion::of(source, spec_.layout);
    if (!from) return from.error();
    Result<HostRegion*> to = HostRegion::of(target, spec_.layout);
    if (!to) return to.error();
    Result<WireAddress> peer = read(peerAddress);
    if (!peer) return peer.error();
    Result<Socket> socket =
        listening() ? accept(deadline) : connectToPeer(peer->at, peer->cookie, settings_, deadline);
    if (!socket) return socket.error();
    std::vector<Claim> claims = claimsOf(*socket, settings_);
    claims_.insert(claims_.end(), claims.begin(), claims.end());
    std::unique_ptr<Lane> lane =
        std::make_unique<TcpLane>(*std::move(socket), spec_, (*from)->data(), (*to)->data());
    return lane;
  }

  [[nodiscard]] std::vector<Claim> claims() const override { return claims_; }

 private:
  [[nodiscard]] bool listening() const noexcept { return listener_.fd() >= 0; }

  Result<Socket> accept(Deadline deadline) {
    Result<AcceptedPeer> peer = acceptPeer(listener_, cookie_, deadline);
    if (!peer) return peer.error();
    // Whoever comes now is refused by the kernel, and does not wait for an answer in vain.
    listener_.close();
    if (peer->turnedAway != 0) {
      claims_.push_back({.key = "clients_turned_away", .value = std::to_string(peer->turnedAway)});
    }
    return std::move(peer->socket);
  }

  [[nodiscard]] Result<WireAddress> read(std::span<const std::byte> bytes) const {
    WireAddress address;
    if (bytes.size() == sizeof(address)) {
      std::memcpy(&address, bytes.data(), sizeof(address));
      const bool known = address.at.family() == AF_INET || address.at.family() == AF_INET6;
      const bool fitting = listening() ? address.listening == 0 : address.listening == 1 && known;
      if (address.magic == WireAddress::kMagic && fitting &&
          address.at.length <= sizeof(address.at.storage)) {
        return address;
      }
    }
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("read the peer's address: it is not one of a tcp {}",
                                      name(listening() ? Role::kInitiator : Role::kResponder))};
  }

  LaneSpec spec_;
  SocketSettings settings_;
  Cookie cookie_{};
  Socket listener_;  // the responder's only
  std::vector<Claim> claims_;
};

/// Whether a test listener can be opened there.
Device examine(const Interface& interface) {
  Device device{.name = interface.name, .detail = interface.address.host()};
  if (const std::string rate = speed(interface.name); !rate.empty()) device.detail += ", " + rate;
  if (!interface.up) {
    device.problem = Error{.code = ErrorCode::kUnsupported,
                           .tried = "use interface " + interface.name + ": it is down"};
    return device;
  }
  SocketAddress address = interface.address;
  address.setPort(0);
  if (Result<Socket> listener = listenAt(address, {}); !listener) {
    device.problem = listener.error();
  }
  return device;
}

class TcpTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "tcp"; }

  Result<std::vector<Device>> probe() override {
    std::vector<Device> devices;
    for (const Interface& each : interfaces()) {
      if (!each.address.isLinkLocal()) devices.push_back(examine(each));
    }
    if (!devices.empty()) return devices;
    return Error{.code = ErrorCode::kNotFound,
                 .tried = "find a network interface with an address",
                 .next = "ip link set lo up"};
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return tcp::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    auto endpoint =
        std::make_unique<TcpEndpoint>(request.lane, SocketSettings::of(request.options));
    if (request.role == Role::kResponder) {
      if (Status done = listen(*endpoint, request); !done) return done.error();
    }
    return std::unique_ptr<Endpoint>(std::move(endpoint));
  }

 private:
  static Status listen(TcpEndpoint& endpoint, const OpenRequest& request) {
    Result<SocketAddress> address = resolve(request.options.text("address"));
    if (!address) return address.error();
    if (address->isLoopback() && !request.lane.peerOnThisHost) {
      return Error{.code = ErrorCode::kConfig,
                   .tried = fmt::format("tcp: address {} is reached from this host only, and the "
                                        "initiator is on another; set address: to one that it "
                                        "reaches",
                                        address->host())};
    }
    address->setPort(static_cast<std::uint16_t>(request.options.integer("port")));
    return endpoint.listen(*address);
  }
};

Error refused(std::string_view option, std::string_view why) {
  return {.code = ErrorCode::kConfig, .tried = fmt::format("{}: {}", option, why)};
}

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const OptionSet&) {
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned},
          .flow = DataFlow::kPush,
          .operation = "send"};
}

Status validate(const OptionSet& options) {
  if (options.integer("busy_poll") % 1000 != 0) {
    return refused("busy_poll", "the kernel takes whole microseconds");
  }
  const std::string& address = options.text("address");
  if (const std::optional<SocketAddress> literal = parseLiteral(address)) {
    if (literal->isWildcard()) {
      return refused("address", "the peer cannot connect to " + address +
                                    "; give one address, or the name of an interface");
    }
    if (literal->isLinkLocal()) {
      return refused("address", "the link-local address " + address +
                                    " means nothing on the other host; give a routable one");
    }
    return Done{};
  }
  // Whether there is such an interface is known on the responder's host only.
  const bool name =
      !address.empty() && address.size() < 16 && address.find_first_of(" /:%") == std::string::npos;
  if (name) return Done{};
  return refused("address",
                 "'" + address + "' is neither an IP address nor the name of an interface");
}

std::unique_ptr<Transport> make() {
  return std::make_unique<TcpTransport>();
}

}  // namespace gdrbench::tcp
