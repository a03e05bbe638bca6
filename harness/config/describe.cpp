// SPDX-License-Identifier: Apache-2.0
#include "harness/config/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/config/utf8.h"

namespace gdrbench::config {
namespace {

std::string_view typeName(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kInteger:
      return "whole number";
    case OptionType::kNumber:
      return "number";
    case OptionType::kSize:
      return "size";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kPercent:
      return "percentage";
    case OptionType::kText:
      return "text";
    case OptionType::kChoice:
      return "word";
  }
  return "text";
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isInnerCharacter(char c) {
  return isLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/' || c == ':';
}

/// Words that some YAML reader takes for null or a boolean.
bool isReserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"null", "true", "false", "yes", "no",
                                                   "on",   "off",  "y",     "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

bool canBePlain(std::string_view text) {
  return !text.empty() && isLetter(text.front()) && text.back() != ':' &&
         std::all_of(text.begin(), text.end(), isInnerCharacter) && !isReserved(text);
}

/// Characters beyond ASCII that end a line or that YAML does not take unescaped.
bool needsEscape(std::string_view character) {
  return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9" ||
         character == "\xEF\xBB\xBF" || character == "\xEF\xBF\xBE" ||
         character == "\xEF\xBF\xBF" || (character[0] == '\xC2' && character[1] < '\xA0');
}

std::string escaped(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character == "\"" || character == "\\") return "\\" + std::string(character);
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  if (character.size() > 1 && !needsEscape(character)) return std::string(character);
  if (character.size() == 1 && byte >= 0x20 && byte != 0x7F) return std::string(character);
  if (character.size() == 1) return fmt::format("\\x{:02X}", byte);
  const unsigned low = static_cast<unsigned char>(character.back()) & 0x3Fu;
  if (character.size() == 2) return fmt::format("\\x{:02X}", ((byte & 0x1Fu) << 6) | low);
  const unsigned middle = static_cast<unsigned char>(character[1]) & 0x3Fu;
  return fmt::format("\\u{:04X}", ((byte & 0x0Fu) << 12) | (middle << 6) | low);
}

}  // namespace

std::string typeText(const Option& option) {
  return fmt::format("{}{}", typeName(option.type), option.list ? ", or a list" : "");
}

std::string acceptedText(const Option& option) {
  std::string accepted = acceptedValues(option);
  if (!accepted.empty()) return accepted;
  return fmt::format("any {}", typeName(option.type));
}

std::vector<OptionValue> defaultValues(const Option& option) {
  const OptionSet set = OptionSet::defaults(OptionTable(&option, 1));
  if (!set.has(option.name)) return {};
  const std::vector<OptionValue>& values = set.list(option.name);
  // A text that nobody gave is empty, which is no default to speak of.
  const bool noText = values.size() == 1 && values.front() == OptionValue(std::string());
  return noText ? std::vector<OptionValue>() : values;
}

std::string defaultText(const Option& option) {
  if (option.required) return "required";
  const std::vector<OptionValue> values = defaultValues(option);
  if (values.empty()) return "-";
  std::vector<std::string> words;
  for (const OptionValue& value : values) words.push_back(yamlScalar(option, value));
  return words.size() == 1 ? words.front() : fmt::format("[{}]", fmt::join(words, ", "));
}

std::string yamlText(std::string_view text) {
  if (canBePlain(text)) return std::string(text);
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, characterLength(text));
    out += escaped(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out + "\"";
}

std::string yamlScalar(const Option& option, const OptionValue& value) {
  const bool isText = option.type == OptionType::kText || option.type == OptionType::kChoice;
  const std::string text = literal(option, value);
  return isText ? yamlText(text) : text;
}

std::string yamlList(const std::vector<std::string>& items, std::size_t indent) {
  constexpr std::size_t kWidth = 96;
  std::string out = "[";
  std::size_t column = indent + 16;  // the key, about
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "]");
    if (i > 0 && column + item.size() + 1 > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      out += ' ';
    }
    out += item;
    column += item.size() + 1;
  }
  return items.empty() ? "[]" : out;
}

}  // namespace gdrbench::config
