// SPDX-License-Identifier: Apache-2.0
// What the kernel says of drivers and of limits that RDMA and GPUs depend on, as values. For
// harness/environment and harness/doctor.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "harness/environment/files.h"
#include "harness/environment/known.h"

namespace gdrbench {

struct NvidiaModule {
  std::string version;  ///< "580.159.03"; empty: not said
  bool open = false;    ///< the open kernel modules; only these export GPU memory as dma-buf
};

/// Nothing where the module is not loaded.
std::optional<NvidiaModule> nvidiaModule(const Roots& roots);

/// Names as lsmod has them. What is built into the kernel is not among them.
Known<std::set<std::string>> loadedModules(const Roots& roots);

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The most memory that this process may pin (RLIMIT_MEMLOCK).
Known<std::uint64_t> memlockLimit();

}  // namespace gdrbench
