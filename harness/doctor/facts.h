// SPDX-License-Identifier: Apache-2.0
// The facts of a machine that its peer is compared by. Private to harness/doctor.
#pragma once

#include <vector>

#include "harness/doctor/examination.h"

namespace gdrbench::doctor {

/// In a fixed order; keys do not repeat.
std::vector<Fact> comparableFacts(const Inputs& inputs);

}  // namespace gdrbench::doctor
