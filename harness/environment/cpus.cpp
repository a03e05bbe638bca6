// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "harness/environment/environment.h"

namespace gdrbench {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Socket and core: two hardware threads of one core have the same.
std::string coreOf(int cpu) {
  const std::string base = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
  return firstLine(base + "physical_package_id") + "/" + firstLine(base + "core_id");
}

}  // namespace

std::vector<int> allowedCpus() {
  // Larger than cpu_set_t allows for: machines with more than 1,024 CPUs exist.
  constexpr int kMost = 8192;
  cpu_set_t* set = CPU_ALLOC(kMost);
  std::vector<int> cpus;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  if (set != nullptr && sched_getaffinity(0, bytes, set) == 0) {
    for (int cpu = 0; cpu < kMost; ++cpu) {
      if (CPU_ISSET_S(static_cast<unsigned>(cpu), bytes, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  if (cpus.empty()) cpus.push_back(std::max(0, sched_getcpu()));
  return cpus;
}

std::pair<int, int> chooseCpuPair() {
  const std::vector<int> cpus = allowedCpus();
  const int first = cpus.front();
  const std::string core = coreOf(first);
  const auto other = std::find_if(cpus.begin() + 1, cpus.end(), [&](int cpu) {
    const std::string here = coreOf(cpu);
    return here != core || here == "/";
  });
  if (other != cpus.end()) return {first, *other};
  return {first, cpus.back()};
}

Status pinToCpu(int cpu) {
  const std::vector<int> allowed = allowedCpus();
  if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = fmt::format("run on CPU {}", cpu),
                 .nativeText = "this process may not use it",
                 .next = fmt::format("allowed CPUs: {}", fmt::join(allowed, ","))};
  }
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<unsigned>(cpu), bytes, set);
  const int failed = sched_setaffinity(0, bytes, set);
  const int why = errno;
  CPU_FREE(set);
  if (failed != 0) return systemError(fmt::format("run on CPU {}", cpu), why);
  return Done{};
}

}  // namespace gdrbench
