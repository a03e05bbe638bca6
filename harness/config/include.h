// SPDX-License-Identifier: Apache-2.0
// From files to one tree: `include` is followed and gone.
#pragma once

#include <string>
#include <string_view>

#include "harness/config/yaml_node.h"

namespace gdrbench::config {

/// The map in `path` over what it includes.
Result<Node> readTree(const std::string& path, Budget& budget);

/// The same for a text; its includes are relative to the working folder.
Result<Node> treeFromText(std::string_view text, const std::string& nameOfText, Budget& budget);

}  // namespace gdrbench::config
