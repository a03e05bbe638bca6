// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/environment/cpu_list.h"
#include "harness/environment/known.h"
#include "harness/environment/machine_facts.h"

namespace gdrbench {
namespace fs = std::filesystem;
namespace {

fs::path cpuFolder(const Roots& roots) {
  return roots.sys / "devices/system/cpu";
}

/// What this file of each CPU says: "performance", or "performance (46 CPUs), powersave (2 CPUs)".
std::string overCpus(const Roots& roots, const std::vector<int>& cpus, const std::string& file) {
  std::map<std::string, int> counts;
  for (const int cpu : cpus) {
    if (auto line = firstLine(cpuFolder(roots) / fmt::format("cpu{}", cpu) / file)) ++counts[*line];
  }
  if (counts.empty()) {
    return lineText(cpuFolder(roots) / fmt::format("cpu{}", cpus.front()) / file);
  }
  if (counts.size() == 1) return counts.begin()->first;
  std::vector<std::string> words;
  for (const auto& [line, count] : counts)
    words.push_back(fmt::format("{} ({} CPUs)", line, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The scaling driver's own state: "amd_pstate active", "intel_pstate passive", "none".
std::string pstate(const Roots& roots) {
  for (const char* driver : {"amd_pstate", "intel_pstate"}) {
    if (auto status = firstLine(cpuFolder(roots) / driver / "status")) {
      return fmt::format("{} {}", driver, *status);
    }
  }
  return "none";
}

/// "on" or "off" by whichever file this machine's driver has.
std::string turbo(const Roots& roots) {
  if (const auto boost = numberIn(cpuFolder(roots) / "cpufreq/boost")) {
    return *boost != 0 ? "on" : "off";
  }
  if (const auto off = numberIn(cpuFolder(roots) / "intel_pstate/no_turbo")) {
    return *off == 0 ? "on" : "off";
  }
  return unknownText("no cpufreq/boost and no intel_pstate/no_turbo");
}

/// How long the deepest sleep that is allowed takes to leave: "133 us (C6; 3 of 4 states enabled)".
std::string sleepExit(const Roots& roots, int cpu) {
  const fs::path states = cpuFolder(roots) / fmt::format("cpu{}/cpuidle", cpu);
  int all = 0;
  int enabled = 0;
  long latency = -1;
  std::string deepest;
  for (const std::string& each : namesIn(states)) {
    const auto exit = numberIn(states / each / "latency");
    if (!numberAfter("state", each) || !exit) continue;
    ++all;
    if (numberIn(states / each / "disable").value_or(0) != 0) continue;
    ++enabled;
    if (*exit <= latency) continue;
    latency = *exit;
    deepest = firstLine(states / each / "name").value_or(each);
  }
  if (all == 0) return unknownText(states.string() + " has no states");
  if (enabled == 0) return fmt::format("none ({} states, all disabled)", all);
  return fmt::format("{} us ({}; {} of {} states enabled)", latency, deepest, enabled, all);
}

std::string idleDriver(const Roots& roots) {
  std::string text = lineText(cpuFolder(roots) / "cpuidle/current_driver");
  if (const auto most = numberIn(roots.sys / "module/intel_idle/parameters/max_cstate")) {
    text += fmt::format(", intel_idle.max_cstate {}", *most);
  }
  return text;
}

/// The flag that the CPU shows to guests.
std::string virtualMachine(const Roots& roots) {
  const auto flags = keyedValue(roots.proc / "cpuinfo", "flags");
  if (!flags) return unknownText("no 'flags' in cpuinfo");
  return (" " + *flags + " ").find(" hypervisor ") != std::string::npos ? "yes" : "no";
}

/// Taken from the scheduler at boot; the kernel writes an empty line for none.
std::string isolated(const Roots& roots) {
  std::string cpus = lineText(cpuFolder(roots) / "isolated");
  return cpus.empty() ? "none" : cpus;
}

}  // namespace

Facts cpuFacts(const Roots& roots, const std::vector<int>& allowed) {
  const fs::path cpus = cpuFolder(roots);
  return {
      {"cpu", keyedText(roots.proc / "cpuinfo", "model name")},
      {"virtual machine", virtualMachine(roots)},  // its PCI tree and NUMA nodes are virtual, too
      {"cpus online", lineText(cpus / "online")},
      {"cpus allowed", cpuListText(allowed)},  // by affinity and by the container
      {"cpus isolated", isolated(roots)},
      {"smt", lineText(cpus / "smt/control")},  // hardware threads: on, off, notsupported
      {"cpu governor", overCpus(roots, allowed, "cpufreq/scaling_governor")},
      {"cpu frequency driver", overCpus(roots, allowed, "cpufreq/scaling_driver")},
      {"cpu pstate", pstate(roots)},  // amd_pstate's or intel_pstate's mode
      {"cpu turbo", turbo(roots)},
      {"cpu sleep exit", sleepExit(roots, allowed.front())},  // longest of the enabled C-states
      {"cpu idle driver", idleDriver(roots)},
      {"clock source",
       lineText(roots.sys / "devices/system/clocksource/clocksource0/current_clocksource")},
  };
}

}  // namespace gdrbench
