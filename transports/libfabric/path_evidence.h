// SPDX-License-Identifier: Apache-2.0
// What a libfabric provider's options, keys and registrations show of the path of GPU memory. An
// option means something else in each provider; where it means nothing, nothing is concluded. Pure:
// facts in, observations out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/evidence/observation.h"
#include "transports/libfabric/operation.h"

namespace gdrbench::libfabric {

/// To fi_setopt.
enum class Answer {
  kNotAsked,
  kAccepted,
  kRefused,  ///< FI_EOPNOTSUPP
  kSilent    ///< FI_ENOPROTOOPT and all else: says nothing
};

/// What one side knows of itself and tells the other.
struct SideFacts {
  bool onGpu = false;
  std::uint64_t sourceKey = 0, targetKey = 0;
  Answer peerToPeerRequired = Answer::kNotAsked;  ///< FI_OPT_FI_HMEM_P2P
  std::optional<bool> emulatesWrite = {}, emulatesRead = {};
};

struct PathFacts {
  std::string provider = {};                   ///< in effect: "efa", "verbs;ofi_rxm"
  std::string fabric = {};                     ///< "efa-direct" or "efa" of provider efa
  std::pair<unsigned, unsigned> library = {};  ///< of the library that runs
  Op op = Op::kWrite;
  std::uint64_t messageBytes = 0;  ///< the largest message
  bool offersGpuMemory = false;    ///< FI_HMEM in the caps that came back
  std::string registration = {};   ///< in words
  SideFacts mine, peers;
  Answer cudaCallsForbidden = Answer::kNotAsked;  ///< FI_OPT_CUDA_API_PERMITTED false
  /// ofi_rxm: messages up to the first are copied whole, up to the second in segments.
  std::uint64_t eagerBytes = 16384, segmentedBytes = 131072;
  std::string psm3GpuDirect = {};  ///< PSM3_GPUDIRECT; empty: not set
  /// The adapter's counters, where there are any.
  std::vector<evidence::Observation> counters = {};
};

std::vector<evidence::Observation> pathObservations(const PathFacts& facts);

}  // namespace gdrbench::libfabric
