// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/peer.h"

#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {
namespace {

Gid gidOf(const std::string& address, GidKind kind = GidKind::kRoceV2) {
  const ibv_gid_entry entry = FakeVerbs::gid(3, 0, address);
  Gid gid{.index = 3, .kind = kind, .interface = "eth0"};
  std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), gid.raw.begin());
  return gid;
}

PeerInfo roce(const std::string& address = "10.0.0.1") {
  return {.device = "mlx5_0",
          .link = LinkLayer::kEthernet,
          .globalRoute = true,
          .gid = gidOf(address),
          .mtu = 4096,
          .readsAsTarget = 16,
          .firstPacket = 0x123456,
          .target = 0x7000,
          .source = 0x8000,
          .targetKey = 5,
          .sourceKey = 6,
          .queuePairs = {0x11, 0x12}};
}

PeerInfo infiniband(std::uint16_t lid) {
  PeerInfo info = roce();
  info.link = LinkLayer::kInfiniBand;
  info.globalRoute = false;
  info.lid = lid;
  info.gid = gidOf("fe80::1", GidKind::kInfiniBand);
  return info;
}

std::string refused(const PeerInfo& mine, const PeerInfo& theirs) {
  const Status status = checkPair(mine, theirs);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kMismatch);
  CHECK_FALSE(status.error().next.empty());
  return status.error().what();
}

}  // namespace

TEST_CASE("peer: what is encoded comes back") {
  const PeerInfo info = roce("2001:db8::7");
  const auto back = decodePeer(encode(info));
  REQUIRE(back.ok());
  CHECK(back->text() == info.text());
  CHECK(back->text() == "mlx5_0 (3: RoCE v2, 2001:db8::7 on eth0; queue pair 0x11)");
  CHECK(back->queuePairs == info.queuePairs);
  CHECK(back->target == info.target);
  CHECK(back->sourceKey == info.sourceKey);
  CHECK(back->mtu == 4096);
  CHECK(back->firstPacket == info.firstPacket);
}

TEST_CASE("peer: bytes that are no address are refused") {
  Bytes good = encode(roce());
  for (std::size_t length : {std::size_t{0}, std::size_t{4}, good.size() - 1}) {
    CHECK_FALSE(decodePeer(std::span(good).first(length)).ok());
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decodePeer(longer).ok());
  good[0] = std::byte{0x55};
  CHECK_FALSE(decodePeer(good).ok());
}

TEST_CASE("peer: pairs that could only time out are refused, with both sides' values") {
  CHECK(checkPair(roce("10.0.0.1"), roce("10.0.0.2")).ok());
  CHECK(checkPair(infiniband(1), infiniband(2)).ok());

  const std::string family = refused(roce("10.0.0.1"), roce("2001:db8::7"));
  CHECK(has(family, "an IPv4 address here, IPv6 there"));
  CHECK(has(family, "10.0.0.1"));
  CHECK(has(family, "2001:db8::7"));
  CHECK(has(refused(roce("fe80::1"), roce("2001:db8::7")), "link-local"));

  PeerInfo v1 = roce();
  v1.gid.kind = GidKind::kRoceV1;
  CHECK(has(refused(roce(), v1), "RoCE v2 here, RoCE v1 there"));
  CHECK(has(refused(roce(), infiniband(2)), "Ethernet here, InfiniBand there"));
  CHECK(has(refused(infiniband(1), infiniband(0)), "no LID"));

  PeerInfo elsewhere = infiniband(2);
  elsewhere.gid.raw[7] = 9;
  CHECK(has(refused(infiniband(1), elsewhere), "different subnets"));

  PeerInfo fewer = roce();
  fewer.queuePairs.pop_back();
  CHECK(has(refused(roce(), fewer), "2 queue pairs here, 1 there"));
}

TEST_CASE("peer: the MTU of a path is the smaller of both, unless one was asked for") {
  PeerInfo small = roce();
  small.mtu = 1024;
  CHECK(checkPair(roce(), small).ok());
  CHECK(agreedMtu(roce(), small) == 1024);
  PeerInfo asked = roce();
  asked.mtuAsked = small.mtuAsked = true;
  CHECK(has(refused(asked, small), "MTU 4096 here, 1024 there"));
}

}  // namespace gdrbench::verbs
