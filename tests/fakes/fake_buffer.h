// SPDX-License-Identifier: Apache-2.0
// Buffers in memory of the fake driver, for tests that need no memory space.
#pragma once

#include "harness/memory/buffer.h"

namespace gdrbench::cuda::fake {

/// "cuda:N" with a number: memory of that GPU; pinned: registered host memory; host: ordinary
/// memory. Aborts when the fake refuses: a test that wants to see that asks the table itself.
Buffer allocateBuffer(const MemoryName& memory, std::uint64_t bytes);

}  // namespace gdrbench::cuda::fake
