// SPDX-License-Identifier: Apache-2.0
// The data pattern in memory that the CPU can touch: what host and pinned memory share.
#pragma once

#include <optional>

#include "harness/memory/memory_space.h"

namespace gdrbench {

Status fillOnHost(Buffer& buffer, const SlotRun& run, const DataPattern& pattern);
Status poisonOnHost(Buffer& buffer, const SlotRun& run, const DataPattern& pattern);
std::optional<DataFault> verifyOnHost(const Buffer& buffer, const SlotRun& run,
                                      const DataPattern& pattern);

}  // namespace gdrbench
