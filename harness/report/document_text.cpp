// SPDX-License-Identifier: Apache-2.0
#include "harness/report/document_text.h"

#include <boost/json.hpp>
#include <optional>

#include "harness/core/json.h"

namespace gdrbench::report {
namespace {

namespace json = boost::json;

constexpr std::string_view kRowsKey = "rows";
constexpr std::string_view kRowsBegin = "\n  \"rows\": [\n";
constexpr std::string_view kRowsEnd = "\n  ]";
constexpr std::string_view kIndent = "    ";

/// Where the rows lie in a text of this layout.
struct Layout {
  std::string_view before, rows, after;
};

/// A line break cannot stand inside a JSON string: these marks are never part of a text in it.
std::optional<Layout> layoutOf(std::string_view text) {
  const std::size_t begin = text.find(kRowsBegin);
  if (begin == std::string_view::npos) return {};
  const std::size_t from = begin + kRowsBegin.size();
  const std::size_t end = text.find(kRowsEnd, from);
  if (end == std::string_view::npos) return {};
  return Layout{text.substr(0, begin), text.substr(from, end - from),
                text.substr(end + kRowsEnd.size())};
}

/// Absent when the text has another layout, or a fault: the caller then reads it as a whole, which
/// names the place of a fault.
std::optional<Document> readByLines(std::string_view text) {
  const std::optional<Layout> layout = layoutOf(text);
  if (!layout) return {};
  const std::string header =
      std::string(layout->before).append("\"rows\": []").append(layout->after);
  const auto value = parseJson(header, "header");
  if (!value) return {};
  Result<Document> document = documentFromJson(*value);
  if (!document) return {};
  std::string_view rest = layout->rows;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const bool last = rest.empty();
    if (line.ends_with(',') == last) return {};
    if (!last) line.remove_suffix(1);
    const auto item = parseJson(line, "row");
    if (!item) return {};
    Result<Row> row = rowFromJson(*item);
    if (!row) return {};
    document->rows.push_back(*std::move(row));
  }
  if (!checkUniqueIds(*document)) return {};
  return *std::move(document);
}

}  // namespace

std::string writeDocument(const Document& document) {
  const json::value members = toJsonWithoutRows(document);
  std::string text = "{";
  for (const auto& member : members.get_object()) {
    text += text == "{" ? "\n  \"" : ",\n  \"";
    text.append(member.key()).append("\": ");
    if (member.key() != kRowsKey || document.rows.empty()) {
      text += writeJson(member.value());
      continue;
    }
    text += "[\n";
    for (const Row& row : document.rows) {
      text.append(kIndent).append(writeJson(toJson(row, true)));
      if (&row != &document.rows.back()) text += ",\n";
    }
    text += kRowsEnd;
  }
  return text + "\n}";
}

Result<Document> parseDocument(std::string_view text, const std::string& source) {
  if (std::optional<Document> document = readByLines(text)) return *std::move(document);
  const auto value = parseJson(text, source);
  if (!value) return value.error();
  Result<Document> document = documentFromJson(*value);
  if (!document) document.error().tried += " from " + source;
  return document;
}

}  // namespace gdrbench::report
