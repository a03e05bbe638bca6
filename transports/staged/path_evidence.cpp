// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/path_evidence.h"

#include <utility>

namespace gdrbench::staged {

using namespace evidence;

std::vector<Observation> pathObservations(const std::string& cut) {
  const auto copied = [&](Way way, Side side, std::string copy) {
    return Observation{.id = "staged.copies",
                       .kind = WitnessClass::kConstruction,
                       .way = way,
                       .side = side,
                       .outcome = Outcome::kStaged,
                       .strength = Strength::kDecisive,
                       .observed = std::move(copy),
                       .ifDirect = "nothing: there is no other way here",
                       .ifStaged = "copies by the GPU's copy engines to and from pinned memory",
                       .reason = "the harness itself copies, and the wire sees host memory only",
                       .control = {},
                       .privilege = "none",
                       .artefact = cut};
  };
  return {copied(Way::kOut, Side::kSource, "GPU memory to pinned host memory, then the wire"),
          copied(Way::kBack, Side::kSink, "the wire to pinned host memory, then GPU memory")};
}

}  // namespace gdrbench::staged
