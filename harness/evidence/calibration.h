// SPDX-License-Identifier: Apache-2.0
// Before a witness counts it is shown a direct and a staged case whose truth is known on this
// machine. One that says the same of both, or was shown neither, is insensitive: what it saw stays
// in the report and out of the verdict.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/evidence/observation.h"

namespace gdrbench::evidence {

struct ControlSeen {
  std::string name;     ///< "copies through host memory by gdrbench itself"
  bool staged = false;  ///< the truth; otherwise direct
  std::vector<Observation> observations;
};

/// The observations with the outcome kInsensitive where a control says so, and with the control
/// that counts for them.
///
/// Behaviour and recorded work say nothing without the control of the other kind: "direct" needs a
/// staged control that the same witness did not call direct, and the reverse. What a library, a
/// construction or a counter shows needs none (an idle counter that moves by the payload has shown
/// that it reacts), but is dropped as well where a control contradicts it. The exception is a
/// counter that says "direct" of one GPU, because it did not move: it needs a staged control on
/// which it counted the payload, the same way and at the same side.
std::vector<Observation> calibrated(std::span<const Observation> observations,
                                    std::span<const ControlSeen> controls);

}  // namespace gdrbench::evidence
