// SPDX-License-Identifier: Apache-2.0
#include "harness/config/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "harness/core/text.h"

namespace gdrbench::config {
namespace {

void setMarks(Node& node, const Mark& mark) {
  node.mark = mark;
  for (Node& item : node.items) setMarks(item, mark);
  for (Member& member : node.members) {
    member.mark = mark;
    setMarks(member.value, mark);
  }
}

std::optional<std::size_t> indexOf(std::string_view word) {
  std::size_t index = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (failure != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return index;
}

/// One --set, walked from the root of the tree to the node that it replaces.
class Setter {
 public:
  Setter(std::string_view set, Budget& budget)
      : set_(set),
        budget_(budget),
        mark_{std::make_shared<const std::string>("--set " + shown(set)), 0, 0} {}

  Status apply(Node& root);

 private:
  Status split();
  Result<Node> value();
  Result<Node*> step(Node& at, std::size_t depth);
  Result<Node*> stepIntoMap(Node& at, std::size_t depth);
  Result<Node*> stepIntoList(Node& at, std::size_t depth);
  Result<Node*> stepIntoScalar(Node& at, std::size_t depth);
  [[nodiscard]] bool isEntry(std::size_t depth) const;
  [[nodiscard]] std::string pathTo(std::size_t depth) const;
  [[nodiscard]] Error fail(std::string text, std::string next = {}) const {
    return errorAt(mark_.place(), std::move(text), std::move(next));
  }

  std::string_view set_;
  Budget& budget_;
  Mark mark_;
  std::vector<std::string> path_;
  std::string_view text_;
};

Status Setter::split() {
  const std::size_t equals = set_.find('=');
  if (equals == std::string_view::npos || equals == 0) return fail("write it as key=value");
  text_ = set_.substr(equals + 1);
  std::string_view path = set_.substr(0, equals);
  while (true) {
    const std::size_t dot = path.find('.');
    path_.emplace_back(path.substr(0, dot));
    if (path_.back().empty()) return fail("a key is empty: write key=value or key.key=value");
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  if (path_.size() > 16) return fail("no key lies that deep");
  if (path_.front() == "include") return fail("'include' can only stand in a file");
  return Done{};
}

/// The value is read inside brackets, so that it is in flow style and on its own: `a: b` on a
/// bare line would be a map.
Result<Node> Setter::value() {
  const std::string text = "[" + std::string(text_) + "\n]";
  Result<Node> list = parseYaml(text, {mark_.file, false}, budget_);
  if (!list) return list;
  const bool isList = list->kind == Node::Kind::kList;
  if (isList && list->items.empty()) {
    return fail(fmt::format("key '{}' has no value", shown(path_.back())),
                "write \"\" for an empty text");
  }
  if (!isList || list->items.size() != 1) return fail("give one value; a list stands in [ ]");
  Node value = std::move(list->items.front());
  setMarks(value, mark_);
  return value;
}

Status Setter::apply(Node& root) {
  if (Status ok = split(); !ok) return ok;
  Result<Node> replacement = value();
  if (!replacement) return replacement.error();
  Node* at = &root;
  for (std::size_t depth = 0; depth < path_.size(); ++depth) {
    Result<Node*> next = step(*at, depth);
    if (!next) return next.error();
    at = *next;
  }
  *at = std::move(*replacement);
  return Done{};
}

Result<Node*> Setter::step(Node& at, std::size_t depth) {
  switch (at.kind) {
    case Node::Kind::kMap:
      return stepIntoMap(at, depth);
    case Node::Kind::kList:
      return stepIntoList(at, depth);
    case Node::Kind::kScalar:
      break;
  }
  return stepIntoScalar(at, depth);
}

/// Is path_[depth] the name of a transport or a pattern: "transports.0.NAME"?
bool Setter::isEntry(std::size_t depth) const {
  return depth == 2 && (path_[0] == "transports" || path_[0] == "patterns");
}

Result<Node*> Setter::stepIntoMap(Node& at, std::size_t depth) {
  const std::string& key = path_[depth];
  const bool isLast = depth + 1 == path_.size();
  for (Member& member : at.members) {
    if (member.key != key) continue;
    if (isLast) member.mark = mark_;
    return &member.value;
  }
  if (isEntry(depth) && !at.members.empty()) {
    std::vector<std::string_view> names;
    for (const Member& member : at.members) names.push_back(member.key);
    return fail(fmt::format("'{}' has no '{}'{}", pathTo(depth), shown(key),
                            suggestion(key.substr(0, 64), names)));
  }
  if (!isLast && indexOf(path_[depth + 1])) {
    return fail(fmt::format("'{}' is not in the configuration, so it has no entry {}",
                            pathTo(depth + 1), path_[depth + 1]));
  }
  Member member{key, mark_, {}};
  member.value.kind = Node::Kind::kMap;
  member.value.mark = mark_;
  at.members.push_back(std::move(member));
  return &at.members.back().value;
}

Result<Node*> Setter::stepIntoList(Node& at, std::size_t depth) {
  const std::optional<std::size_t> index = indexOf(path_[depth]);
  if (index && *index < at.items.size()) return &at.items[*index];
  if (at.items.empty()) return fail(fmt::format("'{}' is an empty list", pathTo(depth)));
  return fail(fmt::format("'{}' has no entry '{}': its entries are 0 to {}", pathTo(depth),
                          shown(path_[depth]), at.items.size() - 1));
}

Result<Node*> Setter::stepIntoScalar(Node& at, std::size_t depth) {
  // "- tcp" means "- tcp: {}".
  if (isEntry(depth) && (!at.isNull() || at.text == path_[depth])) {
    Member member{std::move(at.text), at.mark, {}};
    member.value.kind = Node::Kind::kMap;
    member.value.mark = at.mark;
    at.text.clear();
    at.kind = Node::Kind::kMap;
    at.members.push_back(std::move(member));
    return stepIntoMap(at, depth);
  }
  return fail(
      fmt::format("'{}' is a single value: it has no '{}'", pathTo(depth), shown(path_[depth])));
}

std::string Setter::pathTo(std::size_t depth) const {
  std::string path = path_.front();
  for (std::size_t i = 1; i < depth; ++i) path += "." + path_[i];
  return shown(path);
}

}  // namespace

Status applySets(Node& root, std::span<const std::string> sets, Budget& budget) {
  for (const std::string& set : sets) {
    if (Status ok = Setter(set, budget).apply(root); !ok) return ok;
  }
  return Done{};
}

}  // namespace gdrbench::config
