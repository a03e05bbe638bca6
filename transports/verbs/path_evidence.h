// SPDX-License-Identifier: Apache-2.0
// Direct by construction: an adapter that was given a region of GPU memory, and nothing else, reads
// and writes that memory. What could still bring the CPU in is looked at: inline data, payload in
// completions, an adapter made of software. Pure: facts in, observations out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/observation.h"

namespace gdrbench::verbs {

enum class Registration { kHost, kDmaBuf, kPeerMemory };

/// What is known of a region from when it was registered.
struct RegionFacts {
  Registration registration = Registration::kHost;
  std::uint64_t bytes = 0;
  /// dma-buf: who exported it and how large it is, as the kernel's fdinfo says; empty, 0: unknown.
  std::string exporter = {};
  std::uint64_t exportedBytes = 0;
  std::uint64_t offset = 0;  ///< of the region in it
  /// What the GPU's driver says of the address: "device", "managed", "host"; empty: not asked.
  std::string pointer = {};
};

struct PathFacts {
  bool onGpu = false;
  RegionFacts source, target;
  std::string device = {};  ///< "mlx5_0"
  bool hardware = false;    ///< on a bus; else software of the kernel (rxe, siw)
  std::uint32_t inlineBytes = 0;
  bool payloadInCompletions = false;  ///< mlx5 may put small messages into the completion queue
};

std::vector<evidence::Observation> pathObservations(const PathFacts& facts);

/// Exporter and size in the text of /proc/self/fdinfo/N. At most 4 KiB of it are looked at.
void readFdInfo(std::string_view text, RegionFacts& facts);

}  // namespace gdrbench::verbs
