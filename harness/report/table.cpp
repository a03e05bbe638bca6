// SPDX-License-Identifier: Apache-2.0
#include "harness/report/table.h"

#include <algorithm>

#include "harness/report/display.h"

namespace gdrbench::report {
namespace {

constexpr std::size_t kGap = 2;

std::vector<std::size_t> widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(displayWidth(column.name));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], displayWidth(row[i].text));
    }
  }
  return widths;
}

std::size_t lineLength(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + kGap;
  return total == 0 ? 0 : total - kGap;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, displayWidth(text)), ' ');
  return right ? space + text : text + space;
}

std::string toned(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain) return text;
  const char* code = tone == Tone::kGood ? "32" : tone == Tone::kBad ? "31" : "2";
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string rule(std::size_t length, bool unicode) {
  std::string line;
  for (std::size_t i = 0; i < length; ++i) line += unicode ? "\xE2\x94\x80" : "-";
  return line + "\n";
}

}  // namespace

std::vector<std::string> fit(Table& table, std::size_t width) {
  std::vector<std::string> left;
  std::vector<std::size_t> wide = widths(table);
  while (width != 0 && lineLength(wide) > width) {
    const auto least =
        std::max_element(table.columns.begin(), table.columns.end(),
                         [](const Column& a, const Column& b) { return a.rank < b.rank; });
    if (least == table.columns.end() || least->rank == 0) break;
    const auto index = least - table.columns.begin();
    left.push_back(least->name);
    table.columns.erase(least);
    wide.erase(wide.begin() + index);
    for (auto& row : table.rows) {
      if (!row.empty()) row.erase(row.begin() + index);
    }
  }
  return left;
}

std::string writeText(const Table& table, bool colour, bool unicode) {
  const std::vector<std::size_t> width = widths(table);
  std::string text = table.title + "\n";
  std::string header;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    header += padded(table.columns[i].name, width[i], table.columns[i].right);
    header.append(kGap, ' ');
  }
  text += trimmed(header) + rule(lineLength(width), unicode);
  for (const auto& row : table.rows) {
    if (row.empty()) {
      text += "\n";
      continue;
    }
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = padded(row[i].text, width[i], table.columns[i].right);
      line += toned(cell, row[i].tone, colour);
      line.append(kGap, ' ');
    }
    text += trimmed(line);
  }
  return text;
}

std::string markdownText(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '`' || c == '\\') safe += '\\';
    if (c == '<') {
      safe += "&lt;";
    } else {
      safe += c == '\n' ? ' ' : c;
    }
  }
  return safe;
}

std::string writeMarkdown(const Table& table) {
  std::string text = "### " + markdownText(table.title) + "\n\n|";
  for (const Column& column : table.columns) text += " " + markdownText(column.name) + " |";
  text += "\n|";
  for (const Column& column : table.columns) text += column.right ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    text += "|";
    for (const Cell& cell : row) text += " " + markdownText(cell.text) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace gdrbench::report
