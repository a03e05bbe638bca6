// SPDX-License-Identifier: Apache-2.0
// The checks: each a pure function of what was read. README.md has a line for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/doctor/check.h"
#include "harness/doctor/inputs.h"

namespace gdrbench::doctor {

// --- names of subjects

std::string subjectOf(const Gpu& gpu);
std::string subjectOf(const RdmaNic& nic);
std::string pairOf(const std::string& a, const std::string& b);

// --- the machine's drivers

Check driverCheck(const Inputs& inputs);
Check cudaCheck(const Inputs& inputs);
Check kernelDmaBufCheck(const Inputs& inputs);
Check peerMemoryCheck(const Inputs& inputs);

// --- each GPU

Check gpuCountCheck(const Inputs& inputs);
Check gpuVisibleCheck(const Inputs& inputs, const Gpu& gpu);
Check migCheck(const Gpu& gpu);
Check gpuDirectCheck(const Inputs& inputs, const Gpu& gpu);
Check dmaBufCheck(const Inputs& inputs, const Gpu& gpu);
Check vmmCheck(const Inputs& inputs, const Gpu& gpu);
Check flushCheck(const Inputs& inputs, const Gpu& gpu);
Check bar1Check(const Gpu& gpu);
Check gpuLinkCheck(const Inputs& inputs, const Gpu& gpu);

// --- each RDMA device

Check rdmaCountCheck(const Inputs& inputs);
Check connectionManagerCheck(const Inputs& inputs);
Check deviceFileCheck(const Inputs& inputs, const RdmaNic& nic);
Check portCheck(const RdmaNic& nic);
Check gidCheck(const RdmaNic& nic);
Check nicLinkCheck(const Inputs& inputs, const RdmaNic& nic);
Check maxReadRequestCheck(const Inputs& inputs, const RdmaNic& nic);

// --- each GPU with each RDMA device, and with each other GPU

Check registrationCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic);
Check distanceCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic);
Check acsCheck(const Inputs& inputs, const std::string& pciA, const std::string& pciB,
               const std::string& subject);
Check iommuCheck(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic);
Check peerAccessCheck(const Inputs& inputs, const Gpu& a, const Gpu& b);
Check nvlinkCheck(const Inputs& inputs, const Gpu& a, const Gpu& b);

// --- the rest of the machine

Check memlockCheck(const Inputs& inputs);
Check containerCheck(const Inputs& inputs);
Check memoryLimitCheck(const Inputs& inputs);
Check cpuLimitCheck(const Inputs& inputs);
Check governorCheck(const Inputs& inputs);
Check numaBalancingCheck(const Inputs& inputs);

// --- libraries and their variables

Check libraryCheck(const Library& library);
Check variableCheck(const Variable& variable);

/// What was asked for.
struct Selection {
  std::vector<const Gpu*> gpus;
  std::vector<const RdmaNic*> nics;
  bool gpuPairs = true;  ///< each of `gpus` with every other GPU of the machine, too

  [[nodiscard]] bool asksFor(const Gpu& gpu) const;
};

/// `then` for each pair of GPUs of which one is asked for, in the order of their indexes.
void forGpuPairs(const Inputs& inputs, const Selection& selection,
                 const std::function<void(const Gpu&, const Gpu&)>& then);

/// All checks of what is selected.
std::vector<Check> runChecks(const Inputs& inputs, const Selection& selection);

}  // namespace gdrbench::doctor
