// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/observation.h"

namespace gdrbench::staged {

/// Staged by construction: of this side's memory, both ways. `cut`: how messages are cut, in words.
std::vector<evidence::Observation> pathObservations(const std::string& cut);

}  // namespace gdrbench::staged
