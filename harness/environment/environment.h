// SPDX-License-Identifier: Apache-2.0
// What this machine is, for the report: an allow-list of facts, nothing else leaves the machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/result.h"

namespace gdrbench {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Host name, kernel, CPU model, CPUs this process may use, governor, clock source, memory, NUMA
/// nodes, and the environment variables that begin with one of `prefixes`. What cannot be read
/// says "unknown (why)".
Facts describeMachine(std::span<const std::string_view> prefixes);

std::string hostName();

/// CPUs this process may run on, ascending; never empty.
std::vector<int> allowedCpus();

/// Two CPUs for the two sides: on different cores of one NUMA node where there are such. One CPU
/// twice when only one is allowed.
std::pair<int, int> chooseCpuPair();

/// Pins the calling thread. kConfig-like error that lists the allowed ones when it is not allowed.
Status pinToCpu(int cpu);

}  // namespace gdrbench
