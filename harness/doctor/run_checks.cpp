// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "harness/doctor/checks.h"

namespace gdrbench::doctor {
namespace {

using Checks = std::vector<Check>;

void append(Checks& all, Checks more) {
  for (Check& each : more) all.push_back(std::move(each));
}

Checks ofGpu(const Inputs& inputs, const Gpu& gpu) {
  // Of a GPU that cannot be asked nothing else is known.
  if (!gpu.problem.empty()) return {gpuVisibleCheck(inputs, gpu)};
  return {gpuVisibleCheck(inputs, gpu),
          migCheck(gpu),
          gpuDirectCheck(inputs, gpu),
          dmaBufCheck(inputs, gpu),
          vmmCheck(inputs, gpu),
          flushCheck(inputs, gpu),
          bar1Check(gpu),
          gpuLinkCheck(inputs, gpu)};
}

Checks ofNic(const Inputs& inputs, const RdmaNic& nic) {
  return {deviceFileCheck(inputs, nic), portCheck(nic), gidCheck(nic), nicLinkCheck(inputs, nic),
          maxReadRequestCheck(inputs, nic)};
}

Checks ofPair(const Inputs& inputs, const Gpu& gpu, const RdmaNic& nic) {
  return {registrationCheck(inputs, gpu, nic), distanceCheck(inputs, gpu, nic),
          acsCheck(inputs, gpu.pci, nic.nic.pci, pairOf(subjectOf(gpu), subjectOf(nic))),
          iommuCheck(inputs, gpu, nic)};
}

Checks ofPair(const Inputs& inputs, const Gpu& a, const Gpu& b) {
  Checks checks = {peerAccessCheck(inputs, a, b), nvlinkCheck(inputs, a, b)};
  // NVLink passes no bridge.
  if (checks.back().level == Level::kOk) return checks;
  checks.push_back(acsCheck(inputs, a.pci, b.pci, pairOf(subjectOf(a), subjectOf(b))));
  return checks;
}

Checks ofMachine(const Inputs& inputs) {
  Checks checks = {memlockCheck(inputs),  containerCheck(inputs), memoryLimitCheck(inputs),
                   cpuLimitCheck(inputs), governorCheck(inputs),  numaBalancingCheck(inputs)};
  for (const Library& each : inputs.libraries) checks.push_back(libraryCheck(each));
  for (const Variable& each : inputs.variables) checks.push_back(variableCheck(each));
  return checks;
}

}  // namespace

bool Selection::asksFor(const Gpu& gpu) const {
  return std::find(gpus.begin(), gpus.end(), &gpu) != gpus.end();
}

void forGpuPairs(const Inputs& inputs, const Selection& selection,
                 const std::function<void(const Gpu&, const Gpu&)>& then) {
  if (!selection.gpuPairs || !inputs.gpus) return;
  const std::vector<Gpu>& all = (*inputs.gpus).gpus;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (selection.asksFor(all[i]) || selection.asksFor(all[j])) then(all[i], all[j]);
    }
  }
}

std::vector<Check> runChecks(const Inputs& inputs, const Selection& selection) {
  Checks all = {driverCheck(inputs), cudaCheck(inputs), kernelDmaBufCheck(inputs),
                peerMemoryCheck(inputs), gpuCountCheck(inputs)};
  if (inputs.gpus) {
    for (const Gpu& gpu : (*inputs.gpus).gpus) {
      if (selection.gpuPairs || selection.asksFor(gpu)) append(all, ofGpu(inputs, gpu));
    }
  }
  all.push_back(rdmaCountCheck(inputs));
  all.push_back(connectionManagerCheck(inputs));
  for (const RdmaNic* nic : selection.nics) append(all, ofNic(inputs, *nic));
  for (const Gpu* gpu : selection.gpus) {
    for (const RdmaNic* nic : selection.nics) append(all, ofPair(inputs, *gpu, *nic));
  }
  forGpuPairs(inputs, selection,
              [&](const Gpu& a, const Gpu& b) { append(all, ofPair(inputs, a, b)); });
  append(all, ofMachine(inputs));
  return all;
}

}  // namespace gdrbench::doctor
