// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"
#include "harness/config/yaml_node.h"

namespace gdrbench::config {

// The keys that are not options of a table: each has a shape of its own.
inline constexpr std::string_view kTransportsKey = "transports";
inline constexpr std::string_view kPatternsKey = "patterns";
inline constexpr std::string_view kMemoryKey = "memory";
inline constexpr std::string_view kIncludeKey = "include";
inline constexpr std::string_view kSizesKey = "sizes";
inline constexpr std::string_view kLabelKey = "label";
inline constexpr std::string_view kEnvKey = "env";
inline constexpr std::string_view kLibraryKey = "library";
/// Top-level keys that begin so are not read: a place for anchors.
inline constexpr std::string_view kUnreadPrefix = "x-";

inline constexpr std::size_t kMostSizes = 10'000;

/// Checks the tree against the catalogue. `name` is what errors without a place of their own name.
Result<RunConfig> readConfig(const Catalogue& catalogue, const Node& root, const std::string& name);

/// A size, a list of sizes, or a range {min, max, factor | step}. `path` names the key in errors.
Result<std::vector<std::uint64_t>> readSizes(const Node& node, const std::string& path);

/// One option's value, or its list. Checks type, range and quoting.
Status readOption(const Option& option, const Node& node, const std::string& path, OptionSet& into);

/// The text of a node that must be one scalar with a value.
Result<std::string_view> scalarText(const Node& node, const std::string& path);

/// "unknown key 'x' in 'y'; did you mean 'z'?"; `where` may be empty: the top level.
Error unknownKey(const Member& member, std::string_view where,
                 const std::vector<std::string_view>& known);

}  // namespace gdrbench::config
