// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace gdrbench::verbs {
namespace {

constexpr std::uint32_t kMagic = 0x76726231;  // "vrb1"
constexpr std::size_t kMostQueuePairs = 64;

/// On the wire between two workers of one build, so in host order; numbers of queue pairs follow.
struct Header {
  std::uint32_t magic = kMagic;
  std::uint8_t link = 0, globalRoute = 0, gidKind = 0, mtuAsked = 0;
  std::uint32_t gidIndex = 0;
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t lid = 0;
  std::uint32_t mtu = 0;
  std::uint32_t readsAsTarget = 0;
  std::uint32_t firstPacket = 0;
  std::uint64_t target = 0, source = 0;
  std::uint32_t targetKey = 0, sourceKey = 0;
  std::array<char, 64> device{}, interface {};
  std::uint32_t queuePairs = 0;
};

template <std::size_t N>
void put(std::array<char, N>& into, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), into.begin());
}

template <std::size_t N>
std::string taken(const std::array<char, N>& from) {
  return {from.begin(), std::find(from.begin(), from.end(), '\0')};
}

Error notOurs(std::string why) {
  return {.code = ErrorCode::kProtocol,
          .tried = "read the peer's address",
          .nativeText = std::move(why)};
}

Error refusal(const PeerInfo& mine, const PeerInfo& theirs, std::string why, std::string next) {
  return {.code = ErrorCode::kMismatch,
          .tried = fmt::format("connect {} with {}", mine.text(), theirs.text()),
          .nativeText = std::move(why),
          .next = std::move(next)};
}

std::string_view familyName(const Gid& gid) {
  return gid.family() == GidFamily::kIpv4 ? "IPv4" : "IPv6";
}

Status checkGids(const PeerInfo& mine, const PeerInfo& theirs) {
  const Gid &here = mine.gid, &there = theirs.gid;
  constexpr const char* kNext =
      "set gid_index to entries of the same kind on both sides (show_gids)";
  if (here.kind != there.kind) {
    return refusal(mine, theirs,
                   fmt::format("{} here, {} there", name(here.kind), name(there.kind)), kNext);
  }
  if (here.kind == GidKind::kRoceV2 && here.family() != there.family()) {
    return refusal(mine, theirs,
                   fmt::format("an {} address here, {} there", familyName(here), familyName(there)),
                   kNext);
  }
  if (here.linkLocal() != there.linkLocal()) {
    return refusal(mine, theirs, "one address is link-local, the other is not", kNext);
  }
  return Done{};
}

Status checkLids(const PeerInfo& mine, const PeerInfo& theirs) {
  for (const PeerInfo* side : {&mine, &theirs}) {
    if (side->lid != 0) continue;
    return refusal(mine, theirs, fmt::format("{} has no LID", side->device),
                   "a subnet manager gives it (sminfo); or set gid_index for global routing");
  }
  const auto subnet = [](const Gid& gid) { return std::span(gid.raw).first(8); };
  if (std::ranges::equal(subnet(mine.gid), subnet(theirs.gid))) return Done{};
  return refusal(mine, theirs, "the two ports are in different subnets",
                 "set gid_index to route between them");
}

}  // namespace

std::string PeerInfo::text() const {
  const std::string where = globalRoute ? gid.text() : fmt::format("LID {}", lid);
  return fmt::format("{} ({}; queue pair {:#x})", device, where,
                     queuePairs.empty() ? 0 : queuePairs.front());
}

Bytes encode(const PeerInfo& info) {
  Header header{.link = static_cast<std::uint8_t>(info.link),
                .globalRoute = info.globalRoute,
                .gidKind = static_cast<std::uint8_t>(info.gid.kind),
                .mtuAsked = info.mtuAsked,
                .gidIndex = info.gid.index,
                .gid = info.gid.raw,
                .lid = info.lid,
                .mtu = info.mtu,
                .readsAsTarget = info.readsAsTarget,
                .firstPacket = info.firstPacket,
                .target = info.target,
                .source = info.source,
                .targetKey = info.targetKey,
                .sourceKey = info.sourceKey,
                .queuePairs = static_cast<std::uint32_t>(info.queuePairs.size())};
  put(header.device, info.device);
  put(header.interface, info.gid.interface);
  const std::size_t numbers = info.queuePairs.size() * sizeof(std::uint32_t);
  Bytes bytes(sizeof header + numbers);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, info.queuePairs.data(), numbers);
  return bytes;
}

Result<PeerInfo> decodePeer(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return notOurs(fmt::format("it has {} bytes", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t count = header.queuePairs;
  if (header.magic != kMagic || count == 0 || count > kMostQueuePairs ||
      bytes.size() != sizeof header + count * sizeof(std::uint32_t)) {
    return notOurs("it is not one of this transport");
  }
  if (header.link > 1 || header.gidKind > 2) return notOurs("its kinds are not known here");
  PeerInfo info{.device = taken(header.device),
                .link = static_cast<LinkLayer>(header.link),
                .lid = static_cast<std::uint16_t>(header.lid),
                .globalRoute = header.globalRoute != 0,
                .gid = {.raw = header.gid,
                        .index = header.gidIndex,
                        .kind = static_cast<GidKind>(header.gidKind),
                        .interface = taken(header.interface)},
                .mtu = header.mtu,
                .mtuAsked = header.mtuAsked != 0,
                .readsAsTarget = header.readsAsTarget,
                .firstPacket = header.firstPacket,
                .target = header.target,
                .source = header.source,
                .targetKey = header.targetKey,
                .sourceKey = header.sourceKey,
                .queuePairs = std::vector<std::uint32_t>(count)};
  std::memcpy(info.queuePairs.data(), bytes.data() + sizeof header, count * sizeof(std::uint32_t));
  return info;
}

Status checkPair(const PeerInfo& mine, const PeerInfo& theirs) {
  if (mine.link != theirs.link) {
    return refusal(mine, theirs,
                   fmt::format("{} here, {} there", name(mine.link), name(theirs.link)),
                   "use ports of the same fabric");
  }
  if (mine.queuePairs.size() != theirs.queuePairs.size()) {
    return refusal(mine, theirs,
                   fmt::format("{} queue pairs here, {} there", mine.queuePairs.size(),
                               theirs.queuePairs.size()),
                   "use the same build on both sides");
  }
  if (mine.globalRoute != theirs.globalRoute) {
    return refusal(mine, theirs, "only one side uses its GID",
                   "set gid_index on both sides or none");
  }
  if (mine.mtuAsked != theirs.mtuAsked || (mine.mtuAsked && mine.mtu != theirs.mtu)) {
    return refusal(mine, theirs, fmt::format("MTU {} here, {} there", mine.mtu, theirs.mtu),
                   "use one mtu on both sides");
  }
  return mine.globalRoute ? checkGids(mine, theirs) : checkLids(mine, theirs);
}

std::uint32_t agreedMtu(const PeerInfo& mine, const PeerInfo& theirs) {
  return std::min(mine.mtu, theirs.mtu);
}

}  // namespace gdrbench::verbs
