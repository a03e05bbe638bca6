// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "transports/tcp/claims.h"
#include "transports/tcp/handshake.h"
#include "transports/tcp/interfaces.h"
#include "transports/tcp/tcp_lane.h"
#include "transports/tcp/tcp_transport.h"

namespace gdrbench::tcp {
namespace {

constexpr SlotLayout kLayout{.stride = 128, .count = 4};

Deadline in(int milliseconds) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

SocketAddress local(std::uint16_t port) {
  SocketAddress address = *parseLiteral("127.0.0.1");
  address.setPort(port);
  return address;
}

Socket listener() {
  Result<Socket> socket = listenAt(local(0), {});
  REQUIRE_MESSAGE(socket.ok(), socket.error().what());
  return *std::move(socket);
}

Socket client(const SocketAddress& to) {
  Result<Socket> socket = openSocket(to.family(), {});
  REQUIRE(socket.ok());
  const int result = ::connect(socket->fd(), to.raw(), to.length);
  REQUIRE((result == 0 || errno == EINPROGRESS));
  pollfd entry{.fd = socket->fd(), .events = POLLOUT};
  REQUIRE(::poll(&entry, 1, 1000) == 1);
  return *std::move(socket);
}

void say(const Socket& socket, const void* bytes, std::size_t count) {
  REQUIRE(send(socket.fd(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count));
}

std::string problem(std::string_view option, OptionValue value) {
  OptionSet set = OptionSet::defaults(options());
  set.set(option, {std::move(value)});
  const Status status = validate(set);
  return status ? std::string() : status.error().what();
}

/// A lane and the raw socket at its other end.
struct RawPeer {
  RawPeer() {
    Socket listening = listener();
    peer = client(localAddress(listening));
    Socket accepted(accept4(listening.fd(), nullptr, nullptr, SOCK_NONBLOCK));
    REQUIRE(accepted.fd() >= 0);
    lane = std::make_unique<TcpLane>(std::move(accepted),
                                     LaneSpec{.layout = kLayout, .messageBytes = 128, .window = 4},
                                     source.data(), target.data());
  }
  Event nextEvent() {
    Event event{Event::Kind::kSent, 0xffff'ffff};
    const Deadline deadline = in(5000);
    while (lane->poll({&event, 1}) == 0 && std::chrono::steady_clock::now() < deadline) {
    }
    return event;
  }
  std::vector<std::byte> source = std::vector<std::byte>(kLayout.totalBytes());
  std::vector<std::byte> target = std::vector<std::byte>(kLayout.totalBytes());
  Socket peer;
  std::unique_ptr<TcpLane> lane;
};

}  // namespace

TEST_CASE("validate knows addresses that a peer cannot use") {
  CHECK(problem("address", std::string("10.0.0.1")).empty());
  CHECK(problem("address", std::string("2001:db8::1")).empty());
  CHECK(problem("address", std::string("eth0")).empty());
  CHECK(problem("address", std::string("0.0.0.0")).find("cannot connect") != std::string::npos);
  CHECK(problem("address", std::string("::")).find("cannot connect") != std::string::npos);
  CHECK(problem("address", std::string("fe80::1")).find("link-local") != std::string::npos);
  CHECK(problem("address", std::string("10.0.0.1:80")).find("neither") != std::string::npos);
  CHECK(problem("address", std::string("")).find("neither") != std::string::npos);
  CHECK(problem("busy_poll", std::int64_t{1500}).find("microseconds") != std::string::npos);
  CHECK(problem("busy_poll", std::int64_t{50'000}).empty());
}

TEST_CASE("addresses are written as people write them") {
  SocketAddress six = *parseLiteral("::1");
  six.setPort(80);
  CHECK(six.text() == "[::1]:80");
  CHECK(six.isLoopback());
  CHECK(local(7471).text() == "127.0.0.1:7471");
  CHECK_FALSE(parseLiteral("localhost").has_value());
  CHECK_FALSE(parseLiteral("1.2.3").has_value());
}

TEST_CASE("an interface that is not there is an error that lists those that are") {
  const Result<SocketAddress> address = resolve("nosuch0");
  REQUIRE_FALSE(address.ok());
  CHECK(address.error().code == ErrorCode::kNotFound);
  CHECK(address.error().what().find("lo") != std::string::npos);
  const Result<SocketAddress> loopback = resolve("lo");
  REQUIRE(loopback.ok());
  CHECK(loopback->isLoopback());
}

TEST_CASE("a port that is taken is named with the next step") {
  const Socket first = listener();
  const std::uint16_t port = localAddress(first).port();
  const Result<Socket> second = listenAt(local(port), {});
  REQUIRE_FALSE(second.ok());
  const std::string text = second.error().what();
  CHECK(text.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
  CHECK(text.find("port: 0") != std::string::npos);
}

TEST_CASE("loopback is no address for a peer on another host") {
  OpenRequest request{.role = Role::kResponder, .options = OptionSet::defaults(options())};
  request.lane = {.layout = kLayout, .peerOnThisHost = false};
  const Result<std::unique_ptr<Endpoint>> endpoint = make()->open(request);
  REQUIRE_FALSE(endpoint.ok());
  CHECK(endpoint.error().code == ErrorCode::kConfig);
}

TEST_CASE("strangers are turned away and the peer is still taken") {
  const Socket listening = listener();
  const SocketAddress address = localAddress(listening);
  const Cookie cookie = *randomCookie();
  const Socket silent = client(address);
  const Socket browser = client(address);
  const char request[] = "GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n";
  say(browser, request, sizeof(request));
  const Socket wrong = client(address);
  const Hello wrongHello{.cookie = *randomCookie()};
  say(wrong, &wrongHello, sizeof(wrongHello));
  { const Socket brief = client(address); }
  Status reached = Done{};
  std::thread peer([&] {
    // After the strangers are in.
    const Result<Socket> socket = connectToPeer(address, cookie, {}, in(5000));
    if (!socket) reached = socket.error();
  });
  const Result<AcceptedPeer> accepted = acceptPeer(listening, cookie, in(5000));
  peer.join();
  REQUIRE_MESSAGE(accepted.ok(), accepted.error().what());
  CHECK(reached.ok());
  char byte = 0;
  CHECK(recv(silent.fd(), &byte, 1, MSG_DONTWAIT) <= 0);
}

TEST_CASE("a responder that only strangers find says so") {
  const Socket listening = listener();
  const Socket silent = client(localAddress(listening));
  const Result<AcceptedPeer> accepted = acceptPeer(listening, *randomCookie(), in(200));
  REQUIRE_FALSE(accepted.ok());
  CHECK(accepted.error().code == ErrorCode::kTimeout);
  CHECK(accepted.error().what().find("but not the initiator") != std::string::npos);
  CHECK(accepted.error().what().find(localAddress(listening).text()) != std::string::npos);
}

TEST_CASE("the ways not to connect have different texts") {
  SocketAddress address = local(0);
  {
    const Socket closed = listener();
    address = localAddress(closed);
  }
  const Error refused = connectToPeer(address, {}, {}, in(2000)).error();
  CHECK(refused.code == ErrorCode::kTransport);
  CHECK(refused.nativeCode == ECONNREFUSED);
  CHECK(refused.what().find(address.text()) != std::string::npos);

  const Socket mute = listener();
  const Error unanswered = connectToPeer(localAddress(mute), {}, {}, in(200)).error();
  CHECK(unanswered.code == ErrorCode::kTimeout);
  CHECK(unanswered.what().find("no answer came") != std::string::npos);

  Socket rude = listener();
  std::thread hangUp([&] {
    pollfd entry{.fd = rude.fd(), .events = POLLIN};
    ::poll(&entry, 1, 5000);
    const Socket client(accept4(rude.fd(), nullptr, nullptr, 0));
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  });
  const Error reset = connectToPeer(localAddress(rude), {}, {}, in(5000)).error();
  hangUp.join();
  CHECK(reset.code == ErrorCode::kPeerLost);
  CHECK(reset.what().find("hung up") != std::string::npos);
}

TEST_CASE("records that come in crumbs are put together") {
  RawPeer raw;
  const Expect expects[] = {{7, 2, 100}, {8, 0, 1}};
  CHECK(raw.lane->submit({}, expects).expects == 2);
  std::vector<std::byte> wire(16 + 100 + 16 + 1, std::byte{0x5a});
  std::memcpy(wire.data(), &expects[0], 16);
  std::memcpy(wire.data() + 116, &expects[1], 16);
  for (std::size_t at = 0; at < wire.size(); at += 3) {
    say(raw.peer, wire.data() + at, std::min<std::size_t>(3, wire.size() - at));
    if (at < 110) {
      Event event;
      CHECK(raw.lane->poll({&event, 1}) == 0);
    }
  }
  CHECK(raw.nextEvent().ticket == 7);
  CHECK(raw.nextEvent().ticket == 8);
  CHECK(raw.target[kLayout.offsetOf(2) + 99] == std::byte{0x5a});
  CHECK(raw.target[kLayout.offsetOf(2) + 100] == std::byte{0});
}

TEST_CASE("a header that makes no sense breaks the lane and writes nothing out of bounds") {
  for (const Message& header : {Message{1, 0xffff'fff0, 64}, Message{1, 0, ~std::uint64_t{0}},
                                Message{2, 0, 64}, Message{1, 1, 64}, Message{1, 0, 63}}) {
    CAPTURE(header.slot);
    RawPeer raw;
    const Expect expect{1, 0, 64};
    CHECK(raw.lane->submit({}, {&expect, 1}).expects == 1);
    say(raw.peer, &header, sizeof(header));
    CHECK(raw.nextEvent().kind == Event::Kind::kFailed);
    CHECK(raw.lane->errorDetail().code == ErrorCode::kProtocol);
    CHECK(raw.lane->submit({}, {&expect, 1}).expects == 0);
    for (std::size_t i = 64; i < raw.target.size(); ++i) CHECK(raw.target[i] == std::byte{0});
  }
}

TEST_CASE("a message that fits no slot is never sent") {
  RawPeer raw;
  const Send send{1, 0, 129};
  CHECK(raw.lane->submit({&send, 1}, {}).sends == 0);
  CHECK(raw.nextEvent().kind == Event::Kind::kFailed);
  CHECK(raw.lane->errorDetail().code == ErrorCode::kInternal);
}

TEST_CASE("a peer that closes after its last message is not missed until more is awaited") {
  RawPeer raw;
  const Expect expect{1, 0, 0};
  say(raw.peer, &expect, sizeof(expect));
  raw.peer.close();
  CHECK(raw.lane->submit({}, {&expect, 1}).expects == 1);
  CHECK(raw.nextEvent().kind == Event::Kind::kArrived);
  Event event;
  CHECK(raw.lane->poll({&event, 1}) == 0);
  const Expect more{2, 0, 8};
  CHECK(raw.lane->submit({}, {&more, 1}).expects == 1);
  CHECK(raw.nextEvent().kind == Event::Kind::kFailed);
  CHECK(raw.lane->errorDetail().code == ErrorCode::kPeerLost);
}

TEST_CASE("once the peer is there, others are refused") {
  OpenRequest request{.role = Role::kResponder, .options = OptionSet::defaults(options())};
  std::uint16_t port = 0;
  {
    const Socket probe = listener();
    port = localAddress(probe).port();
  }
  request.options.set("port", {std::int64_t{port}});
  request.lane.layout = kLayout;
  std::vector<std::byte> memory(kLayout.totalBytes());
  const Buffer buffer(memory.data(), memory.size(), {}, -1, {});
  std::unique_ptr<Transport> transport = make();
  auto responder = *transport->open(request);
  request.role = Role::kInitiator;
  auto initiator = *transport->open(request);
  auto here = *responder->registerMemory(buffer), there = *initiator->registerMemory(buffer);
  const Bytes ofResponder = *responder->address(*here, *here);
  const Bytes ofInitiator = *initiator->address(*there, *there);
  bool accepted = false;
  std::thread other(
      [&] { accepted = responder->connect(ofInitiator, *here, *here, in(5000)).ok(); });
  const bool connected = initiator->connect(ofResponder, *there, *there, in(5000)).ok();
  other.join();
  CHECK(accepted);
  CHECK(connected);
  CHECK(connectToPeer(local(port), {}, {}, in(2000)).error().nativeCode == ECONNREFUSED);
}

TEST_CASE("both ends on one host are labelled as the loopback interface") {
  const Socket listening = listener();
  const Socket one = client(localAddress(listening));
  std::map<std::string, std::string> claims;
  for (const Claim& claim : claimsOf(one, {.sendBuffer = 65536})) claims[claim.key] = claim.value;
  CHECK(claims["medium"] == "loopback interface");
  CHECK(claims["interface"] == "lo");
  CHECK(claims["peer_address"] == localAddress(listening).text());
  CHECK(claims["send_buffer"].find("requested 64 KiB") != std::string::npos);
  // Also by the address of another interface of this host.
  for (const Interface& each : interfaces()) {
    if (each.address.isLoopback() || each.address.isLinkLocal()) continue;
    CHECK(carrierOf(each.address, each.address).loopback);
  }
}

TEST_CASE("buffers that are asked for are in effect or an error") {
  const Result<Socket> socket = openSocket(AF_INET, {.sendBuffer = 32768, .receiveBuffer = 16384});
  REQUIRE(socket.ok());
  int value = 0;
  socklen_t length = sizeof(value);
  REQUIRE(getsockopt(socket->fd(), SOL_SOCKET, SO_SNDBUF, &value, &length) == 0);
  CHECK(value == 2 * 32768);
}

}  // namespace gdrbench::tcp
