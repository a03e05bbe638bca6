// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "harness/config/reader.h"
#include "harness/core/units.h"

namespace gdrbench::config {
namespace {

/// {min, max, factor} or {min, max, step}, as written.
struct Range {
  std::optional<std::uint64_t> min, max, step;
  std::optional<std::int64_t> factor;
};

Error wrong(const Node& node, const std::string& path, std::string problem) {
  return errorAt(node.mark.place(), fmt::format("key '{}': {}", path, problem));
}

Error tooMany(const Node& node, const std::string& path) {
  return wrong(node, path, "more than 10,000 sizes");
}

Result<std::string_view> plainText(const Node& node, const std::string& path) {
  Result<std::string_view> text = scalarText(node, path);
  if (!text || node.plain) return text;
  Error error =
      wrong(node, path, fmt::format("\"{}\" is a text because of its quotes", shown(*text)));
  error.next = "remove the quotes";
  return error;
}

Result<std::uint64_t> readSize(const Node& node, const std::string& path) {
  Result<std::string_view> text = plainText(node, path);
  if (!text) return text.error();
  Result<std::uint64_t> size = parseSize(*text);
  if (!size) {
    Error error = wrong(node, path, size.error().tried);
    error.next = size.error().next;
    return error;
  }
  if (*size == 0) {
    return wrong(node, path,
                 fmt::format("'{}' is no message size; accepted: at least 1 B", shown(*text)));
  }
  return size;
}

Result<std::int64_t> readFactor(const Node& node, const std::string& path) {
  Result<std::string_view> text = plainText(node, path);
  if (!text) return text.error();
  Result<std::int64_t> factor = parseInteger(*text);
  if (factor && *factor >= 2) return factor;
  return wrong(
      node, path,
      fmt::format("'{}' is no factor; accepted: a whole number, at least 2", shown(*text)));
}

Status readRangeKey(const Member& member, const std::string& path, Range& range) {
  const std::string inner = path + "." + member.key;
  if (member.key == "factor") {
    Result<std::int64_t> factor = readFactor(member.value, inner);
    if (!factor) return factor.error();
    range.factor = *factor;
    return Done{};
  }
  std::optional<std::uint64_t>* const slot = member.key == "min"    ? &range.min
                                             : member.key == "max"  ? &range.max
                                             : member.key == "step" ? &range.step
                                                                    : nullptr;
  if (slot == nullptr) return unknownKey(member, path, {"min", "max", "factor", "step"});
  Result<std::uint64_t> size = readSize(member.value, inner);
  if (!size) return size.error();
  *slot = *size;
  return Done{};
}

Status checkRange(const Range& range, const Node& node, const std::string& path) {
  if (!range.min || !range.max) {
    return wrong(node, path, fmt::format("'{}' is missing", range.min ? "max" : "min"));
  }
  if (*range.min > *range.max) {
    return wrong(
        node, path,
        fmt::format("min ({}) is above max ({})", formatSize(*range.min), formatSize(*range.max)));
  }
  if (range.factor && range.step) {
    return wrong(node, path, "'factor' and 'step' exclude each other");
  }
  return Done{};
}

/// No value above max, and none that wraps around.
Result<std::vector<std::uint64_t>> expand(const Range& range, const Node& node,
                                          const std::string& path) {
  const auto factor = static_cast<std::uint64_t>(range.factor.value_or(2));
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = *range.min;;) {
    if (sizes.size() == kMostSizes) return tooMany(node, path);
    sizes.push_back(size);
    if (range.step) {
      if (*range.step > *range.max - size) return sizes;
      size += *range.step;
    } else {
      if (size > *range.max / factor) return sizes;
      size *= factor;
    }
  }
}

Result<std::vector<std::uint64_t>> readRange(const Node& node, const std::string& path) {
  Range range;
  for (const Member& member : node.members) {
    if (Status ok = readRangeKey(member, path, range); !ok) return ok.error();
  }
  if (Status ok = checkRange(range, node, path); !ok) return ok.error();
  return expand(range, node, path);
}

Result<std::vector<std::uint64_t>> readList(const Node& node, const std::string& path) {
  if (node.items.empty()) return wrong(node, path, "the list is empty");
  if (node.items.size() > kMostSizes) return tooMany(node, path);
  std::vector<std::uint64_t> sizes;
  sizes.reserve(node.items.size());
  for (const Node& item : node.items) {
    Result<std::uint64_t> size = readSize(item, path);
    if (!size) return size.error();
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace

Result<std::vector<std::uint64_t>> readSizes(const Node& node, const std::string& path) {
  if (node.kind == Node::Kind::kMap) return readRange(node, path);
  if (node.kind == Node::Kind::kList) return readList(node, path);
  Result<std::uint64_t> size = readSize(node, path);
  if (!size) return size.error();
  return std::vector<std::uint64_t>{*size};
}

}  // namespace gdrbench::config
