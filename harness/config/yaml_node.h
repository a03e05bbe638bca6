// SPDX-License-Identifier: Apache-2.0
// A YAML text as a tree of plain data that knows where everything was written. Aliases and merge
// keys are already resolved. Strict: what a reader could take for something else is an error.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace gdrbench::config {

/// A Place that costs little per node. Line 0: the whole of `file` (a --set has no lines).
struct Mark {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
  [[nodiscard]] Place place() const;
};

struct Member;

struct Node {
  enum class Kind { kScalar, kList, kMap };
  Kind kind = Kind::kScalar;
  std::string text;   ///< kScalar
  bool plain = true;  ///< kScalar: written without quotes
  Mark mark;
  std::vector<Node> items;      ///< kList
  std::vector<Member> members;  ///< kMap, keys unique

  [[nodiscard]] bool isNull() const;  ///< nothing, ~ or null, without quotes
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Mark mark;  ///< of the key
  Node value;
};

/// What one load may cost, all its files and --set values together. Counts down.
struct Budget {
  std::size_t bytes = std::size_t{4} << 20;
  std::size_t nodes = 500'000;
  std::size_t aliasNodes = 100'000;  ///< copied for anchors and aliases
  std::size_t files = 64;
};

/// Where a text comes from, for the marks of its nodes.
struct Source {
  std::shared_ptr<const std::string> name;
  bool hasLines = true;
};

/// Exactly one document. Duplicate keys, tags, keys that are not scalars, bytes that are not UTF-8,
/// control characters, more than 64 levels and an exhausted budget are errors.
Result<Node> parseYaml(std::string_view text, const Source& source, Budget& budget);

/// Maps merge deeply; everything else in `over` replaces what `base` has.
Node mergeDeep(Node base, Node over);

/// `text` for a message: control characters escaped, cut after 64 characters.
std::string shown(std::string_view text);

}  // namespace gdrbench::config
