// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "harness/config/yaml_node.h"

namespace gdrbench::config {

/// Writes each "path=value" into the tree, in order. Whether the key exists is the reader's
/// question; here only the way to it must.
Status applySets(Node& root, std::span<const std::string> sets, Budget& budget);

}  // namespace gdrbench::config
