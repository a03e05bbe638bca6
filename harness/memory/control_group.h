// SPDX-License-Identifier: Apache-2.0
// What the memory limits of control groups leave to this process. Batch systems, containers and
// service managers set them; going beyond one ends a process without a word.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gdrbench {

/// Bytes where no limit is set.
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Bytes left in the fullest of the control groups named in `groups` (the text of
/// /proc/self/cgroup) and their parents, under `mount` (/sys/fs/cgroup). Version 2 and version 1.
/// kUnlimited where no limit is set.
std::uint64_t leftInControlGroups(const std::string& mount, std::string_view groups);

}  // namespace gdrbench
