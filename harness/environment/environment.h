// SPDX-License-Identifier: Apache-2.0
// What this machine is, for the report: an allow-list of facts, nothing else leaves the machine.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/result.h"
#include "harness/environment/topology.h"

namespace gdrbench {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Host, kernel and its tunables, processor, memory, NUMA, drivers and limits, GPUs, NICs and the
/// paths between these, and the environment variables that choose GPUs or begin with one of
/// `prefixes`. Keys do not repeat and keep their order. What cannot be read says "unknown (why)".
Facts describeMachine(std::span<const std::string_view> prefixes);

std::string hostName();

/// CPUs this process may run on, ascending; never empty.
std::vector<int> allowedCpus();

/// Two CPUs for the two sides: on different cores of one NUMA node where there are such. One CPU
/// twice when only one is allowed.
std::pair<int, int> chooseCpuPair();

/// The same for sides with a device each (a GPU, usually), by PCI address: each side near its own,
/// as far as there are different cores. Empty: that side has none, and goes near the other's.
std::pair<int, int> chooseCpuPair(std::string_view pciA, std::string_view pciB);

/// The same from `allowed` only, which is ascending and not empty.
std::pair<int, int> chooseCpuPair(const std::vector<int>& allowed, const Topology& topology,
                                  std::string_view pciA = {}, std::string_view pciB = {});

/// What one of several users of this host may take of `allowed`, so that no two have a CPU in
/// common: whole cores, dealt in turns, so that each NUMA node gives to everybody. Fewer than two
/// CPUs where there are too few cores for all.
std::vector<int> dealtCpus(const std::vector<int>& allowed, const Topology& topology,
                           std::size_t user, std::size_t users);

/// Pins the calling thread. kConfig-like error that lists the allowed ones when it is not allowed.
Status pinToCpu(int cpu);

}  // namespace gdrbench
