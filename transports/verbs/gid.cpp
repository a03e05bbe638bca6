// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/gid.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "harness/core/units.h"

namespace gdrbench::verbs {
namespace {

GidKind kindOf(std::uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_ROCE_V1:
      return GidKind::kRoceV1;
    case IBV_GID_TYPE_ROCE_V2:
      return GidKind::kRoceV2;
    default:
      return GidKind::kInfiniBand;
  }
}

/// ::ffff:0:0/96
bool isMappedIpv4(const std::array<std::uint8_t, 16>& raw) {
  static constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0,    0,
                                                           0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), raw.begin());
}

/// Larger is better.
auto rank(const Gid& gid) {
  return std::tuple(gid.kind == GidKind::kRoceV2, !gid.linkLocal(),
                    gid.family() == GidFamily::kIpv4);
}

std::string listOf(std::span<const Gid> table) {
  std::string text;
  for (const Gid& gid : table) text += (text.empty() ? "" : "; ") + gid.text();
  return text.empty() ? "no entry at all" : text;
}

Result<GidChoice> gidOfIndex(std::span<const Gid> table, std::string_view wanted,
                             std::string_view where) {
  const Result<std::int64_t> index = parseInteger(wanted);
  const auto found = std::find_if(table.begin(), table.end(), [&](const Gid& gid) {
    return index && static_cast<std::int64_t>(gid.index) == *index;
  });
  if (found != table.end()) return GidChoice{*found, "asked for"};
  return Error{.code = ErrorCode::kNotFound,
               .tried = fmt::format("use gid_index {} of {}", wanted, where),
               .nativeText = "the table has no such entry",
               .next = "it has " + listOf(table)};
}

std::string reasonFor(const Gid& best, std::span<const Gid> candidates) {
  if (candidates.size() == 1)
    return best.linkLocal() ? "the only one, and link-local" : "the only one";
  const auto other = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Gid& gid) { return gid.index != best.index; });
  std::string reason = best.linkLocal() ? "there are only link-local ones" : "routable";
  if (best.kind != GidKind::kRoceV2) reason += ", no RoCE v2 there";
  return fmt::format("{}; before {}", reason, other->text());
}

}  // namespace

GidFamily Gid::family() const {
  return isMappedIpv4(raw) ? GidFamily::kIpv4 : GidFamily::kIpv6;
}

bool Gid::linkLocal() const {
  if (isMappedIpv4(raw)) return raw[12] == 169 && raw[13] == 254;
  return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

std::string Gid::address() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = isMappedIpv4(raw);
  const void* from = v4 ? raw.data() + 12 : raw.data();
  inet_ntop(v4 ? AF_INET : AF_INET6, from, text.data(), text.size());
  return text.data();
}

std::string Gid::text() const {
  return fmt::format("{}: {}, {}{}", index, name(kind), address(),
                     interface.empty() ? "" : " on " + interface);
}

std::string_view name(GidKind kind) {
  switch (kind) {
    case GidKind::kRoceV1:
      return "RoCE v1";
    case GidKind::kRoceV2:
      return "RoCE v2";
    case GidKind::kInfiniBand:
      break;
  }
  return "InfiniBand";
}

Result<std::vector<Gid>> readGidTable(Calls& calls, ibv_context* context, std::uint8_t port) {
  // Answers the entries in use, of all ports. What it gets is told in 16 bits: 2047 entries at
  // most.
  std::vector<ibv_gid_entry> entries(1024);
  const ssize_t count = calls.queryGidTable(context, entries.data(), entries.size());
  if (count < 0) return systemError("read the GID table", static_cast<int>(-count));
  std::vector<Gid> table;
  for (const ibv_gid_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
    if (entry.port_num != port) continue;
    Gid gid{.raw = {}, .index = entry.gid_index, .kind = kindOf(entry.gid_type), .interface = {}};
    std::memcpy(gid.raw.data(), entry.gid.raw, gid.raw.size());
    if (entry.ndev_ifindex != 0) gid.interface = calls.interfaceName(entry.ndev_ifindex);
    table.push_back(std::move(gid));
  }
  return table;
}

Result<GidChoice> chooseGid(std::span<const Gid> table, std::string_view wanted,
                            std::string_view interface, std::string_view where) {
  if (wanted != "auto") return gidOfIndex(table, wanted, where);
  std::vector<Gid> candidates;
  for (const Gid& gid : table) {
    if (interface.empty() || gid.interface == interface) candidates.push_back(gid);
  }
  if (candidates.empty()) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = fmt::format(
                     "find a GID{} of {}",
                     interface.empty() ? "" : fmt::format(" of interface {}", interface), where),
                 .nativeText = "the table has " + listOf(table),
                 .next = "give the interface an address and bring it up (ip address, ip link)"};
  }
  // Of equals the first: tables list the plain interface before its VLANs.
  const auto best = std::max_element(candidates.begin(), candidates.end(),
                                     [](const Gid& a, const Gid& b) { return rank(a) < rank(b); });
  return GidChoice{*best, reasonFor(*best, candidates)};
}

}  // namespace gdrbench::verbs
