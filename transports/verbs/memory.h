// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/memory/buffer.h"

namespace gdrbench::verbs {

/// Where a queue pair reads and writes: this side's buffers and the peer's, with their keys.
struct Memory {
  std::uint64_t source = 0, target = 0;
  std::uint32_t sourceKey = 0, targetKey = 0;
  std::uint64_t peerSource = 0, peerTarget = 0;
  std::uint32_t peerSourceKey = 0, peerTargetKey = 0;
  SlotLayout layout;
};

}  // namespace gdrbench::verbs
