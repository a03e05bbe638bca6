// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/affinity.h"

#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace gdrbench {
namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

Status runOnCpus(const std::vector<int>& cpus) {
  const auto count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
  const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(count));
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<unsigned>(cpu), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) == 0) return Done{};
  return systemError(fmt::format("run on CPUs {}", fmt::join(cpus, ",")), errno);
}

std::vector<int> cpusBeside(const std::vector<int>& allowed, const std::vector<int>& polling) {
  std::vector<int> others;
  std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(others), [&](int cpu) {
    return std::find(polling.begin(), polling.end(), cpu) == polling.end();
  });
  return others.empty() ? allowed : others;
}

}  // namespace gdrbench
