// SPDX-License-Identifier: Apache-2.0
#include "harness/config/yaml_node.h"

#include <fmt/format.h>

#include <unordered_map>

#include "harness/config/utf8.h"

namespace gdrbench::config {

Place Mark::place() const {
  return {file ? *file : std::string(), line, column};
}

bool Node::isNull() const {
  return kind == Kind::kScalar && plain &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

const Node* Node::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Node mergeDeep(Node base, Node over) {
  if (base.kind != Node::Kind::kMap || over.kind != Node::Kind::kMap) return over;
  // Keys are copied: growing `members` moves the strings that a view would point into.
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < base.members.size(); ++i) index.emplace(base.members[i].key, i);
  for (Member& member : over.members) {
    const auto found = index.find(member.key);
    if (found == index.end()) {
      base.members.push_back(std::move(member));
      continue;
    }
    Member& old = base.members[found->second];
    old.mark = member.mark;
    old.value = mergeDeep(std::move(old.value), std::move(member.value));
  }
  base.mark = over.mark;
  return base;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (i >= kLongest) return out + "...";
    const std::size_t length = characterLength(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", byte);
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

}  // namespace gdrbench::config
