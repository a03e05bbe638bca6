// SPDX-License-Identifier: Apache-2.0
// Bytes that passed the kernel's network devices. Private to harness/witness.
#pragma once

#include <memory>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

std::unique_ptr<Witness> netdevBytes(const Scene& scene, const Roots& roots, const Time& time);

}  // namespace gdrbench::witness
