// SPDX-License-Identifier: Apache-2.0
#include "harness/config/quoted.h"

namespace gdrbench::config {
namespace {

bool isBlank(char c) {
  return c == ' ' || c == '\t';
}

/// Skips blanks and line ends; answers how many lines ended.
std::size_t skipLineEnds(std::string_view text, std::size_t& at) {
  std::size_t lines = 0;
  for (; at < text.size() && (isBlank(text[at]) || text[at] == '\n' || text[at] == '\r'); ++at) {
    const bool isPair = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (!isBlank(text[at]) && !isPair) ++lines;
  }
  return lines;
}

}  // namespace

std::optional<std::string> readSingleQuoted(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n' || c == '\r') {
      // One line end is a blank, more are one less; blanks around them do not count.
      while (!out.empty() && isBlank(out.back())) out.pop_back();
      const std::size_t lines = skipLineEnds(text, at);
      out += lines == 1 ? std::string(" ") : std::string(lines - 1, '\n');
      continue;
    }
    if (c == '\'') {
      if (at + 1 == text.size() || text[at + 1] != '\'') return out;
      ++at;
    }
    out += c;
    ++at;
  }
  return std::nullopt;
}

bool hasEscapeAndLineEnd(std::string_view text) {
  bool escape = false, lineEnd = false;
  for (std::size_t at = 0; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') {
      escape = true;
      if (++at == text.size()) break;
    }
    lineEnd = lineEnd || text[at] == '\n' || text[at] == '\r';
  }
  return escape && lineEnd;
}

}  // namespace gdrbench::config
