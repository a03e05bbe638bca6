// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/path_evidence.h"

#include <fmt/format.h>

namespace gdrbench::cuda_copy {
namespace {

using namespace evidence;

Side sideOf(const RouteFacts& facts) {
  if (facts.sourceOnGpu && facts.targetOnGpu) return Side::kBoth;
  return facts.sourceOnGpu ? Side::kSource : Side::kSink;
}

Observation about(const RouteFacts& facts) {
  return {.id = "cuda_copy.route",
          .kind = WitnessClass::kConstruction,
          .way = Way::kOut,
          .side = sideOf(facts),
          .outcome = Outcome::kDirect,
          .strength = Strength::kDecisive,
          .observed = {},
          .ifDirect = "copies between memories that one GPU reaches by itself",
          .ifStaged = "copies between two GPUs of which neither may use the other's memory",
          .reason = {},
          .control = {},
          .privilege = "none",
          .artefact = {}};
}

}  // namespace

std::vector<Observation> pathObservations(const RouteFacts& facts) {
  if (!facts.sourceOnGpu && !facts.targetOnGpu) return {};
  Observation seen = about(facts);
  const auto says = [&](std::string_view what) {
    seen.observed = fmt::format("{}: {}; target mapped by {}", facts.text, what, facts.mapped);
  };
  switch (facts.ends) {
    case Ends::kOneGpu:
      says("both ends on one GPU");
      seen.path = PathKind::kSameGpu;
      break;
    case Ends::kTwoGpus:
      says(facts.peerAccess ? "a copy engine reads one and writes the other over peer access"
                            : "peer access is off");
      if (facts.peerAccess) break;
      seen.outcome = Outcome::kStaged;
      seen.reason = "the driver takes the bytes through host memory";
      break;
    case Ends::kGpuAndHost:
      says(facts.pinned ? "a copy engine moves between GPU and pinned host memory"
                        : "the host memory is pageable");
      if (facts.pinned) break;
      // Where the CPU's page tables are the GPU's too, it need not.
      seen.outcome = Outcome::kStaged;
      seen.strength = Strength::kStrong;
      seen.reason = "the driver copies pageable memory through buffers of its own";
      break;
  }
  return {std::move(seen)};
}

}  // namespace gdrbench::cuda_copy
