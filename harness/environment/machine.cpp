// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/environment/environment.h"
#include "harness/environment/machine_facts.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared under strict C++

namespace gdrbench {
namespace {

/// What decides which GPUs are seen, and how kernels are launched, whatever the transport.
constexpr std::array<std::string_view, 4> kVariables = {"CUDA_DEVICE_MAX_CONNECTIONS",
                                                        "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING",
                                                        "CUDA_VISIBLE_DEVICES"};

bool isWanted(std::string_view variable, std::span<const std::string_view> prefixes) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

Facts variables(std::span<const std::string_view> prefixes) {
  std::vector<std::string> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (isWanted(*variable, prefixes)) found.emplace_back(*variable);
  }
  std::sort(found.begin(), found.end());
  Facts facts;
  for (const std::string& text : found) {
    const std::size_t equals = text.find('=');
    facts.emplace_back("env " + text.substr(0, equals),
                       equals == std::string::npos ? "" : text.substr(equals + 1));
  }
  return facts;
}

Facts hostFacts() {
  utsname kernel{};
  uname(&kernel);
  return {
      {"host", hostName()},
      {"kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)},
  };
}

}  // namespace

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

Facts describeMachine(std::span<const std::string_view> prefixes) {
  const Roots roots;
  const Topology topology(roots.sys);
  const std::vector<Nic> nics = findNics(topology);
  const Result<GpuInventory> gpus = findGpus();
  Facts facts;
  for (Facts& part :
       std::array{hostFacts(), cpuFacts(roots, allowedCpus()), kernelFacts(roots),
                  driverFacts(roots), gpuFacts(gpus, topology), nicFacts(nics, topology),
                  pathFacts(gpus ? *gpus : GpuInventory{}, nics, topology), variables(prefixes)}) {
    std::move(part.begin(), part.end(), std::back_inserter(facts));
  }
  return facts;
}

}  // namespace gdrbench
