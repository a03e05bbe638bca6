// SPDX-License-Identifier: Apache-2.0
// The parts of describeMachine(). Each answers its facts in a fixed order; what each key means
// stands beside where it is written. For harness/environment and harness/doctor.
#pragma once

#include "harness/environment/environment.h"
#include "harness/environment/files.h"
#include "harness/environment/gpus.h"
#include "harness/environment/nics.h"

namespace gdrbench {

/// Processor, its frequency and sleep states, for the CPUs `allowed`.
Facts cpuFacts(const Roots& roots, const std::vector<int>& allowed);

/// Memory, NUMA, IOMMU and other tunables of the kernel.
Facts kernelFacts(const Roots& roots);

/// Kernel modules, device files and limits that RDMA and GPUs depend on.
Facts driverFacts(const Roots& roots);

Facts gpuFacts(const Result<GpuInventory>& gpus, const Topology& topology);
Facts nicFacts(const std::vector<Nic>& nics, const Topology& topology);

/// One row for each GPU and each NIC that is not the last: its path to all that follow.
Facts pathFacts(const GpuInventory& gpus, const std::vector<Nic>& nics, const Topology& topology);

/// "NUMA 0, CPUs 0-47, Gen5 x16, MaxReadReq 512 B, MaxPayload 256 B, ACS off, IOMMU none".
std::string pciText(std::string_view pci, const Topology& topology);

}  // namespace gdrbench
