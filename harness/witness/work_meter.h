// SPDX-License-Identifier: Apache-2.0
// Instructions of this process, by the kernel's performance counters.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/core/result.h"
#include "harness/environment/files.h"
#include "harness/environment/known.h"

namespace gdrbench::witness {

class WorkMeter {
 public:
  virtual ~WorkMeter() = default;
  virtual Status start() = 0;
  /// In user space, of all threads of this process, since start().
  virtual Known<std::uint64_t> instructions() = 0;
};

/// perf_event_open on each thread that is there at start(); threads that they make are counted too.
std::unique_ptr<WorkMeter> perfWorkMeter(const Roots& roots);

}  // namespace gdrbench::witness
