// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "harness/memory/memory_space.h"

namespace gdrbench {

/// Ordinary memory of this process. See openMemorySpace for `footprint`.
Result<std::unique_ptr<MemorySpace>> openHostSpace(std::uint64_t footprint);

/// An error when `bytes` more would not fit; `purpose` reads after "of host memory".
std::optional<Error> hostShortage(std::uint64_t bytes, std::string_view purpose);

/// Bytes that could still be had: what the kernel says is available, or what is left of the limit
/// of the control group, whichever is less. The largest number where neither can be read.
std::uint64_t availableHostBytes();

}  // namespace gdrbench
