// SPDX-License-Identifier: Apache-2.0
// Where the witnesses look: the kernel's files, the vendor's libraries, the clock. Tests put what
// they have recorded in the place of each. Private to harness/witness.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "harness/environment/files.h"
#include "harness/environment/nvml.h"
#include "harness/witness/witness.h"
#include "harness/witness/work_meter.h"

namespace gdrbench::witness {

struct Time {
  std::function<std::chrono::nanoseconds()> now;
  std::function<void(std::chrono::milliseconds)> sleep;
};

struct Sources {
  Roots roots;
  Time time;
  std::function<Result<SymbolLookup>()> openNvml, openCupti;
  std::function<std::unique_ptr<WorkMeter>()> makeWorkMeter;
};

/// Of this machine.
Sources realSources();

Witnesses freeWitnesses(const Scene& scene, const Sources& sources);
Witnesses passWitnesses(const Scene& scene, const Sources& sources);

}  // namespace gdrbench::witness
