// SPDX-License-Identifier: Apache-2.0
// Single values: what every key has in common.
#include <fmt/format.h>

#include "harness/config/describe.h"
#include "harness/config/reader.h"
#include "harness/core/text.h"

namespace gdrbench::config {
namespace {

/// No value but a text is longer; the error need not repeat all of it.
constexpr std::size_t kLongestValue = 200;

bool isText(const Option& option) {
  return option.type == OptionType::kText || option.type == OptionType::kChoice;
}

Result<OptionValue> readScalar(const Option& option, const Node& node, const std::string& path) {
  Result<std::string_view> text = scalarText(node, path);
  if (!text) return text.error();
  if (!node.plain && !isText(option)) {
    return errorAt(node.mark.place(),
                   fmt::format("key '{}': \"{}\" is a text because of its quotes; accepted: {}",
                               path, shown(*text), acceptedText(option)),
                   "remove the quotes");
  }
  if (option.type != OptionType::kText && text->size() > kLongestValue) {
    return errorAt(node.mark.place(),
                   fmt::format("key '{}': a value of {} characters; accepted: {}", path,
                               text->size(), acceptedText(option)));
  }
  Result<OptionValue> value = parseOption(option, *text);
  if (value) return value;
  return errorAt(node.mark.place(), fmt::format("key '{}': {}", path, value.error().tried),
                 value.error().next);
}

}  // namespace

Error unknownKey(const Member& member, std::string_view where,
                 const std::vector<std::string_view>& known) {
  const std::string in = where.empty() ? std::string() : fmt::format(" in '{}'", where);
  return errorAt(member.mark.place(),
                 fmt::format("unknown key '{}'{}{}", shown(member.key), in,
                             suggestion(std::string_view(member.key).substr(0, 64), known)));
}

Result<std::string_view> scalarText(const Node& node, const std::string& path) {
  if (node.kind == Node::Kind::kList) {
    return errorAt(node.mark.place(), fmt::format("key '{}' takes one value, not a list", path));
  }
  if (node.kind == Node::Kind::kMap) {
    return errorAt(node.mark.place(), fmt::format("key '{}' takes a value, not a map", path));
  }
  if (node.isNull()) {
    return errorAt(node.mark.place(), fmt::format("key '{}' has no value", path));
  }
  return std::string_view(node.text);
}

Status readOption(const Option& option, const Node& node, const std::string& path,
                  OptionSet& into) {
  std::vector<OptionValue> values;
  if (node.kind == Node::Kind::kList && option.list) {
    if (node.items.empty()) {
      return errorAt(node.mark.place(), fmt::format("key '{}' is an empty list", path));
    }
    for (const Node& item : node.items) {
      Result<OptionValue> value = readScalar(option, item, path);
      if (!value) return value.error();
      values.push_back(std::move(*value));
    }
  } else {
    Result<OptionValue> value = readScalar(option, node, path);
    if (!value) return value.error();
    values.push_back(std::move(*value));
  }
  into.set(option.name, std::move(values));
  return Done{};
}

}  // namespace gdrbench::config
