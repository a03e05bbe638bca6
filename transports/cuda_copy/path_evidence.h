// SPDX-License-Identifier: Apache-2.0
// What a route of copies is by construction. Each side speaks for the way out, and for both ends of
// it: it alone starts those copies.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/observation.h"

namespace gdrbench::cuda_copy {

enum class Ends { kTwoGpus, kOneGpu, kGpuAndHost };

struct RouteFacts {
  Ends ends = Ends::kTwoGpus;
  bool peerAccess = false;  ///< two GPUs: enabled, and so in use by every copy
  bool sourceOnGpu = true, targetOnGpu = true;
  bool pinned = false;  ///< the end in host memory: the driver copies to and from it without a stop
  std::string text = {};    ///< "GPU 0000:3b:00.0 to GPU 0000:86:00.0"
  std::string mapped = {};  ///< how the target came into this process
};

std::vector<evidence::Observation> pathObservations(const RouteFacts& facts);

}  // namespace gdrbench::cuda_copy
