// SPDX-License-Identifier: Apache-2.0
#include "harness/report/display.h"

#include <algorithm>

#include "harness/core/text.h"

namespace gdrbench::report {
namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

bool isPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

std::string oneLine(std::string_view text) {
  if (isPlain(text)) return std::string(text);
  std::string out = asUtf8(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if (c < 0x20 || c == 0x7F) out[i] = ' ';
    // U+0080 to U+009F: terminals take some of them for the start of a command.
    if (c == 0xC2 && static_cast<unsigned char>(out[i + 1]) < 0xA0) out.replace(i, 2, " ");
  }
  return out;
}

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shortened(std::string_view text, std::size_t width) {
  constexpr std::string_view kMore = "...";
  if (displayWidth(text) <= width) return std::string(text);
  std::size_t left = width > kMore.size() ? width - kMore.size() : 0;
  std::size_t end = 0;
  while (end < text.size() && left > 0) {
    ++end;
    while (end < text.size() && continues(text[end])) ++end;
    --left;
  }
  while (end > 0 && text[end - 1] == ' ') --end;
  return std::string(text.substr(0, end)).append(kMore);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  if (width == 0) return std::string(text);
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t wide = displayWidth(word);
    if (column != 0 && column + 1 + wide > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
  }
  return out;
}

}  // namespace gdrbench::report
