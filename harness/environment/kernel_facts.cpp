// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>

#include "harness/environment/known.h"
#include "harness/environment/machine_facts.h"

namespace gdrbench {
namespace fs = std::filesystem;
namespace {

std::string totalMemory(const Roots& roots) {
  std::string line = keyedText(roots.proc / "meminfo", "MemTotal");
  char* end = nullptr;
  const unsigned long long kib = std::strtoull(line.c_str(), &end, 10);
  if (end == line.c_str()) return line;
  return fmt::format("{:.1f} GiB", static_cast<double>(kib) / (1024.0 * 1024.0));
}

/// "2", or "2, of which without CPUs: 1" where some are memory only.
std::string numaNodes(const Roots& roots) {
  const Topology topology(roots.sys);
  const std::vector<int> nodes = topology.numaNodes();
  if (nodes.empty()) {
    return unknownText("no " + (roots.sys / "devices/system/node").string());
  }
  std::vector<int> bare;
  for (const int node : nodes) {
    if (topology.cpusOfNode(node).empty()) bare.push_back(node);
  }
  std::string text = std::to_string(nodes.size());
  if (!bare.empty()) text += fmt::format(", without CPUs: {}", fmt::join(bare, ", "));
  return text;
}

/// The word in brackets of a line such as "always [madvise] never".
std::string chosen(const fs::path& path) {
  std::string line = lineText(path);
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  if (open == line.npos || close == line.npos || close < open) return line;
  return line.substr(open + 1, close - open - 1);
}

/// "42 groups: DMA-FQ 2, identity 40". Under "identity" addresses of devices are not translated.
std::string iommu(const Roots& roots) {
  const fs::path groups = roots.sys / "kernel/iommu_groups";
  std::map<std::string, int> types;
  int all = 0;
  for (const std::string& group : namesIn(groups)) {
    ++all;
    ++types[firstLine(groups / group / "type").value_or("unknown type")];
  }
  if (all == 0) return "none (no groups)";
  std::vector<std::string> words;
  for (const auto& [type, count] : types) words.push_back(fmt::format("{} {}", type, count));
  return fmt::format("{} groups: {}", all, fmt::join(words, ", "));
}

/// Only these words: the command line holds much that is nobody's business.
std::string iommuWords(const Roots& roots) {
  constexpr std::array<std::string_view, 3> kWanted = {"iommu=", "intel_iommu=", "amd_iommu="};
  std::ifstream file(roots.proc / "cmdline");
  if (!file) return unknownText((roots.proc / "cmdline").string() + " cannot be read");
  std::vector<std::string> found;
  for (std::string word; file >> word;) {
    for (const std::string_view wanted : kWanted) {
      if (word.starts_with(wanted)) found.push_back(word);
    }
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, " "));
}

/// "2.0 CPUs" where the container's control group, which is the root of the mount there, limits the
/// time of its processes: used up, it shows as spikes of milliseconds.
std::string cpuQuota(const Roots& roots) {
  long quota = -1;
  long period = 0;
  const fs::path mount = roots.sys / "fs/cgroup";
  if (std::ifstream two(mount / "cpu.max"); two) {
    two >> quota >> period;  // "max 100000": no limit, and `quota` becomes 0
    if (!two) return "none";
  } else {
    quota = numberIn(mount / "cpu/cpu.cfs_quota_us").value_or(-1);
    period = numberIn(mount / "cpu/cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return "none";
  return fmt::format("{:.1f} CPUs", static_cast<double>(quota) / static_cast<double>(period));
}

}  // namespace

Facts kernelFacts(const Roots& roots) {
  return {
      {"memory", totalMemory(roots)},
      {"numa nodes", numaNodes(roots)},
      {"numa nodes allowed", keyedText(roots.proc / "self/status", "Mems_allowed_list")},
      {"numa balancing", lineText(roots.proc / "sys/kernel/numa_balancing")},
      {"transparent huge pages", chosen(roots.sys / "kernel/mm/transparent_hugepage/enabled")},
      {"iommu", iommu(roots)},
      {"iommu boot words", iommuWords(roots)},  // of the kernel command line
      {"cpu quota", cpuQuota(roots)},           // of the container's control group
  };
}

}  // namespace gdrbench
