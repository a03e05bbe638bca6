// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "harness/environment/known.h"

namespace gdrbench {
namespace fs = std::filesystem;
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "eth10" as {"eth", 10}: so that numbers sort by value.
std::pair<std::string_view, long> splitNumber(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t digits = last == name.npos ? 0 : last + 1;
  long number = -1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return {name.substr(0, digits), number};
}

}  // namespace

std::optional<std::string> firstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::string lineText(const fs::path& path) {
  return firstLine(path).value_or(unknownText(path.string() + " cannot be read"));
}

std::optional<long> numberIn(const fs::path& path) {
  std::ifstream file(path);
  long value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

std::optional<std::string> keyedValue(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view all(line);
    if (trimmed(all.substr(0, colon)) == key) return std::string(trimmed(all.substr(colon + 1)));
  }
  return std::nullopt;
}

std::string keyedText(const fs::path& path, std::string_view key) {
  return keyedValue(path, key).value_or(
      unknownText(fmt::format("no '{}' in {}", key, path.string())));
}

std::vector<std::string> namesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(splitNumber(a), a) < std::pair(splitNumber(b), b);
  });
  return names;
}

std::optional<int> numberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace gdrbench
