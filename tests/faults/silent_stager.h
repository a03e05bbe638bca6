// SPDX-License-Identifier: Apache-2.0
// A transport for GPU memory that copies everything through host memory and says nothing of it:
// with `lies` it even reports that its library went the direct way. What the harness must never
// call direct. Only for tests.
#pragma once

#include <memory>

#include "transports/registry.h"

namespace gdrbench::faulty {

/// "silent_stager": over loopback, by the staged path of `builtin`.
TransportEntry silentStager();

}  // namespace gdrbench::faulty
