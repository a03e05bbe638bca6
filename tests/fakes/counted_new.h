// SPDX-License-Identifier: Apache-2.0
// Link the object library gdr_counted_new, and every allocation of the program is counted: for
// tests of hot paths, which take no memory.
#pragma once

#include <cstddef>

namespace gdrbench {

/// Calls of operator new by this thread since it began.
std::size_t allocations();

}  // namespace gdrbench
