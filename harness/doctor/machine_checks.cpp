// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/core/units.h"
#include "harness/doctor/checks.h"

namespace gdrbench::doctor {
namespace {

constexpr About kMemlock = {"machine.memlock", kMachineGroup, Effect::kNone, "getrlimit(2)"};
constexpr About kContainer = {"machine.container", kMachineGroup, Effect::kNone,
                              "Linux Documentation/filesystems/overlayfs.rst"};
constexpr About kMemory = {"machine.memory-limit", kMachineGroup, Effect::kNone,
                           "Linux Documentation/admin-guide/cgroup-v2.rst, memory.max"};
constexpr About kCpus = {"machine.cpus", kMachineGroup, Effect::kNone,
                         "Linux Documentation/admin-guide/cgroup-v2.rst, cpuset and cpu.max"};
constexpr About kGovernor = {"machine.cpu-governor", kMachineGroup, Effect::kNone,
                             "Linux Documentation/admin-guide/pm/cpufreq.rst"};
constexpr About kBalancing = {"machine.numa-balancing", kMachineGroup, Effect::kNone,
                              "Linux Documentation/admin-guide/sysctl/kernel.rst"};
constexpr About kLibrary = {"software.library", kSoftwareGroup, Effect::kNone,
                            "transports/README.md, and the README of the transport"};
constexpr About kVariable = {"software.variable", kSoftwareGroup, Effect::kNone,
                             "the library's own documentation of its environment"};

bool unread(const std::string& text) {
  return text.starts_with("unknown");
}

}  // namespace

Check memlockCheck(const Inputs& inputs) {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;
  if (!inputs.memlock) {
    return report(kMemlock, "", Level::kUnknown, unknownText(inputs.memlock.why));
  }
  if (*inputs.memlock == kNoLimit) return report(kMemlock, "", Level::kOk, "unlimited");
  const std::string limit = formatSize(*inputs.memlock);
  if (inputs.mayLockAll) {
    return report(kMemlock, "", Level::kOk, limit + ", but CAP_IPC_LOCK lifts it");
  }
  if (*inputs.memlock >= kPlenty) return report(kMemlock, "", Level::kOk, limit);
  return report(kMemlock, "", Level::kWarn,
                limit + ": queues and host buffers beyond it cannot be registered",
                "ulimit -l unlimited; limits.conf, LimitMEMLOCK= or --ulimit memlock=-1");
}

Check containerCheck(const Inputs& inputs) {
  const std::string machine =
      inputs.virtualMachine == "yes" ? "a virtual machine" : "no virtual machine";
  if (!inputs.container) return report(kContainer, "", Level::kOk, "no container; " + machine);
  return report(kContainer, "", Level::kOk,
                "a container (its root is an overlay): devices must be given to it; " + machine);
}

Check memoryLimitCheck(const Inputs& inputs) {
  constexpr std::uint64_t kLittle = std::uint64_t{1} << 30;
  // Without a limit version 1 of control groups says a number that no machine has.
  constexpr std::uint64_t kNoMachine = std::uint64_t{1} << 50;
  if (inputs.memoryLeft >= kNoMachine) {
    return report(kMemory, "", Level::kOk, "no control group limits memory");
  }
  const std::string text = formatSize(inputs.memoryLeft) + " left in the control group";
  if (inputs.memoryLeft >= kLittle) return report(kMemory, "", Level::kOk, text);
  return report(kMemory, "", Level::kWarn, text + ": large buffers end the process",
                "raise memory.max of the container or the batch job");
}

Check cpuLimitCheck(const Inputs& inputs) {
  const std::string allowed = "CPUs " + inputs.cpusAllowed;
  if (inputs.cpuQuota == "none") return report(kCpus, "", Level::kOk, allowed + ", no quota");
  return report(kCpus, "", Level::kWarn,
                fmt::format("{}, quota {}: used up, it stops a process for milliseconds", allowed,
                            inputs.cpuQuota),
                "run without --cpus, and with --cpuset-cpus");
}

Check governorCheck(const Inputs& inputs) {
  if (unread(inputs.governor)) {
    return report(kGovernor, "", Level::kUnknown, inputs.governor);
  }
  if (inputs.governor == "performance") {
    return report(kGovernor, "", Level::kOk, inputs.governor);
  }
  return report(kGovernor, "", Level::kWarn, inputs.governor + ": the clock follows the load",
                "cpupower frequency-set -g performance");
}

Check numaBalancingCheck(const Inputs& inputs) {
  if (unread(inputs.numaBalancing)) {
    return report(kBalancing, "", Level::kUnknown, inputs.numaBalancing);
  }
  if (inputs.numaBalancing == "0") return report(kBalancing, "", Level::kOk, "off");
  return report(kBalancing, "", Level::kWarn, "on: the kernel unmaps pages to see who uses them",
                "sysctl kernel.numa_balancing=0");
}

Check libraryCheck(const Library& library) {
  if (!library.version) {
    return report(kLibrary, library.user, Level::kUnknown, unknownText(library.version.why));
  }
  std::string text = fmt::format("{} {}", library.name, *library.version);
  if (!library.path.empty()) text += fmt::format(" ({})", library.path);
  if (library.cuda) text += *library.cuda ? ", built with CUDA" : ", built without CUDA";
  if (!library.usable.empty()) text += fmt::format("; opens {}", fmt::join(library.usable, ", "));
  if (!library.headers.empty() && library.headers != *library.version) {
    return report(kLibrary, library.user, Level::kWarn,
                  fmt::format("{}; gdrbench was built with headers of {}", text, library.headers),
                  "build with the headers of the library that is used");
  }
  if (library.cuda && !*library.cuda) {
    return report(kLibrary, library.user, Level::kWarn, text,
                  "install a build with CUDA, or give its path as library: in the configuration");
  }
  return report(kLibrary, library.user, Level::kOk, text);
}

Check variableCheck(const Variable& variable) {
  const std::string text = fmt::format("{}={}", variable.name, variable.value);
  if (!variable.harmful) return report(kVariable, variable.name, Level::kOk, text);
  return report(kVariable, variable.name, Level::kWarn, text + ": " + variable.effect,
                "unset " + variable.name);
}

}  // namespace gdrbench::doctor
