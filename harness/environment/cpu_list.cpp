// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/cpu_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace gdrbench {
namespace {

constexpr int kMost =
    1 << 16;  // more than any machine has; keeps a broken list from filling memory

/// "3" or "3-7"; nothing when it is neither.
std::optional<std::pair<int, int>> parseRange(std::string_view text) {
  const char* const end = text.data() + text.size();
  int first = 0;
  const auto low = std::from_chars(text.data(), text.data() + text.size(), first);
  if (low.ec != std::errc() || first < 0) return std::nullopt;
  int last = first;
  if (low.ptr != end) {
    if (*low.ptr != '-') return std::nullopt;
    const auto high = std::from_chars(low.ptr + 1, end, last);
    if (high.ec != std::errc() || high.ptr != end) return std::nullopt;
  }
  if (last < first || last >= kMost) return std::nullopt;
  return std::pair(first, last);
}

}  // namespace

std::vector<int> parseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    const auto range = parseRange(one);
    if (!range) return {};
    for (int cpu = range->first; cpu <= range->second; ++cpu) cpus.push_back(cpu);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string cpuListText(const std::vector<int>& cpus) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    ranges.push_back(i == j ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[j]));
    i = j + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

}  // namespace gdrbench
