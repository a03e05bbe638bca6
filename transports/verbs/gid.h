// SPDX-License-Identifier: Apache-2.0
// Choosing an entry of a GID table, as RoCE users expect it, and saying why.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "transports/verbs/calls.h"

namespace gdrbench::verbs {

enum class GidKind : std::uint8_t { kInfiniBand, kRoceV1, kRoceV2 };
/// What kind of address the GID stands for.
enum class GidFamily : std::uint8_t { kIpv4, kIpv6 };

struct Gid {
  std::array<std::uint8_t, 16> raw{};
  std::uint32_t index = 0;
  GidKind kind = GidKind::kInfiniBand;
  std::string interface;  ///< network interface it belongs to; empty: none

  [[nodiscard]] GidFamily family() const;
  [[nodiscard]] bool linkLocal() const;
  /// "10.1.2.3", "2001:db8::1".
  [[nodiscard]] std::string address() const;
  /// "3: RoCE v2, 10.1.2.3 on eth2".
  [[nodiscard]] std::string text() const;
};

std::string_view name(GidKind kind);

/// The entries of one port, in the order of the table.
Result<std::vector<Gid>> readGidTable(Calls& calls, ibv_context* context, std::uint8_t port);

struct GidChoice {
  Gid gid;
  std::string
      reason;  ///< "the only one", "RoCE v2 and routable, before 0: RoCE v2, fe80::1 on eth2"
};

/// `wanted`: "auto" or a number. `interface`: the network interface that the user named, or empty.
/// `where`: "port 1 of mlx5_0", for errors.
Result<GidChoice> chooseGid(std::span<const Gid> table, std::string_view wanted,
                            std::string_view interface, std::string_view where);

}  // namespace gdrbench::verbs
