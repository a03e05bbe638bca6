// SPDX-License-Identifier: Apache-2.0
// The options of a run that belong to no transport and no pattern, and the catalogue of all.
#pragma once

#include "harness/config/config.h"
#include "transports/registry.h"

namespace gdrbench {

/// Everything that a configuration may say, from the tables of their owners.
config::Catalogue catalogue(const Registry& registry);

}  // namespace gdrbench
