// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "harness/environment/environment.h"

namespace gdrbench {
namespace {

/// CPUs of both lists; all are ascending.
std::vector<int> among(const std::vector<int>& allowed, const std::vector<int>& wanted) {
  std::vector<int> both;
  std::set_intersection(wanted.begin(), wanted.end(), allowed.begin(), allowed.end(),
                        std::back_inserter(both));
  return both;
}

/// Where each side would like to run; `all` for a side about which nothing is known.
struct Wishes {
  std::vector<int> a, b, all;
};

Wishes wishesOf(const std::vector<int>& allowed, const Topology& topology, std::string_view pciA,
                std::string_view pciB) {
  Wishes wishes{.all = allowed};
  if (!pciA.empty()) wishes.a = among(allowed, topology.cpusNear(pciA));
  if (!pciB.empty()) wishes.b = among(allowed, topology.cpusNear(pciB));
  if (wishes.a.empty() && wishes.b.empty()) {
    const int node = topology.nodeOfCpu(allowed.front());
    wishes.a = among(allowed, topology.cpusOfNode(node));
  }
  if (wishes.a.empty()) wishes.a = wishes.b;
  if (wishes.b.empty()) wishes.b = wishes.a;
  return wishes;
}

using Apart = std::function<bool(int, int)>;

std::optional<std::pair<int, int>> firstPair(const std::vector<int>& as, const std::vector<int>& bs,
                                             const Apart& apart) {
  for (const int a : as) {
    for (const int b : bs) {
      if (apart(a, b)) return std::pair(a, b);
    }
  }
  return std::nullopt;
}

/// One far from its device rather than two that disturb each other.
std::optional<std::pair<int, int>> firstPair(const Wishes& wishes, const Apart& apart) {
  for (const auto& [as, bs] :
       {std::pair(&wishes.a, &wishes.b), std::pair(&wishes.a, &wishes.all),
        std::pair(&wishes.all, &wishes.b), std::pair(&wishes.all, &wishes.all)}) {
    if (auto pair = firstPair(*as, *bs, apart)) return pair;
  }
  return std::nullopt;
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
  return chooseCpuPair(std::string_view(), std::string_view());
}

std::pair<int, int> chooseCpuPair(std::string_view pciA, std::string_view pciB) {
  return chooseCpuPair(allowedCpus(), Topology(), pciA, pciB);
}

std::pair<int, int> chooseCpuPair(const std::vector<int>& allowed, const Topology& topology,
                                  std::string_view pciA, std::string_view pciB) {
  std::map<int, std::string> cores;
  for (const int cpu : allowed) cores[cpu] = topology.coreOfCpu(cpu);
  const Wishes wishes = wishesOf(allowed, topology, pciA, pciB);
  const auto onOtherCore = [&](int a, int b) {
    return a != b && (cores[a] != cores[b] || cores[a].empty());
  };
  if (auto pair = firstPair(wishes, onOtherCore)) return *pair;
  if (auto pair = firstPair(wishes, std::not_equal_to<int>())) return *pair;
  return {allowed.front(), allowed.front()};
}

std::vector<int> dealtCpus(const std::vector<int>& allowed, const Topology& topology,
                           std::size_t user, std::size_t users) {
  std::map<std::string, std::size_t> cores;  // by the turn in which each is dealt
  std::map<int, std::size_t> turns;          // of each NUMA node
  std::vector<int> own;
  for (const int cpu : allowed) {
    const std::string known = topology.coreOfCpu(cpu);
    const std::string core = known.empty() ? fmt::format("cpu {}", cpu) : known;
    const auto [place, fresh] = cores.emplace(core, 0);
    if (fresh) place->second = turns[topology.nodeOfCpu(cpu)]++;
    if (place->second % users == user) own.push_back(cpu);
  }
  return own;
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
