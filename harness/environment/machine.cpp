// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/core/units.h"
#include "harness/environment/environment.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared under strict C++

namespace gdrbench {
namespace {

std::string fileLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return "unknown (" + path + " cannot be read)";
  return line;
}

/// The value of the first line "key : value" of a file such as /proc/cpuinfo.
std::string keyedLine(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return fmt::format("unknown (no '{}' in {})", key, path);
}

std::string totalMemory() {
  std::string line = keyedLine("/proc/meminfo", "MemTotal");
  char* end = nullptr;
  const unsigned long long kib = std::strtoull(line.c_str(), &end, 10);
  if (end == line.c_str()) return line;
  return fmt::format("{:.1f} GiB", static_cast<double>(kib) / (1024.0 * 1024.0));
}

std::string numaNodes() {
  std::error_code none;
  int nodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos) {
      ++nodes;
    }
  }
  return nodes == 0 ? "unknown (no /sys/devices/system/node)" : std::to_string(nodes);
}

/// "0-3,8": as the kernel writes CPU lists.
std::string cpuList(const std::vector<int>& cpus) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    ranges.push_back(i == j ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[j]));
    i = j + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

void addVariables(Facts& facts, std::span<const std::string_view> prefixes) {
  std::vector<std::string> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
      return text.starts_with(prefix);
    });
    if (wanted) found.emplace_back(text);
  }
  std::sort(found.begin(), found.end());
  for (const std::string& text : found) {
    const std::size_t equals = text.find('=');
    facts.emplace_back("env " + text.substr(0, equals),
                       equals == std::string::npos ? "" : text.substr(equals + 1));
  }
}

}  // namespace

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

Facts describeMachine(std::span<const std::string_view> prefixes) {
  utsname kernel{};
  uname(&kernel);
  const std::vector<int> cpus = allowedCpus();
  const std::string first = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", cpus.front());
  Facts facts{
      {"host", hostName()},
      {"kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)},
      {"cpu", keyedLine("/proc/cpuinfo", "model name")},
      {"cpus allowed", cpuList(cpus)},
      {"cpu governor", fileLine(first + "scaling_governor")},
      {"clock source",
       fileLine("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
      {"memory", totalMemory()},
      {"numa nodes", numaNodes()},
      {"numa balancing", fileLine("/proc/sys/kernel/numa_balancing")},
  };
  addVariables(facts, prefixes);
  return facts;
}

}  // namespace gdrbench
