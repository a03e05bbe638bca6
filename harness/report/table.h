// SPDX-License-Identifier: Apache-2.0
// A table as data, and two ways to write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gdrbench::report {

enum class Tone { kPlain, kGood, kBad, kFaint };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

struct Column {
  std::string name;
  bool right = true;  ///< numbers are aligned to the right
  int rank = 0;       ///< when a line is too long, the highest rank goes first; 0 always stays
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< an empty row is a rule between groups
};

/// Leaves out columns until a line fits `width` (0: unlimited); answers the names of those.
std::vector<std::string> fit(Table& table, std::size_t width);

std::string writeText(const Table& table, bool colour, bool unicode);
std::string writeMarkdown(const Table& table);

/// `text` with what Markdown would take for markup escaped.
std::string markdownText(std::string_view text);

}  // namespace gdrbench::report
