// SPDX-License-Identifier: Apache-2.0
// From observations to a verdict. Pure: no hardware, no clock, no files, so that any stored result
// can be judged again.
//
// The rule, for each way and each side whose memory lies in a GPU:
//
//   staged    a decisive observation of staging, and none of a direct path
//   conflict  decisive observations of both
//   direct    a decisive observation of a direct path, none of staging, and all preconditions:
//             every byte verified by the device that owns it, the payload seen on the link that it
//             was meant to pass (where there is more than one way), no fuse of the library taken
//             out
//   unproved  all else, with what is missing
//
// Decisive is what is seen on one kind of path only; or, together, bytes counted on the link
// between two GPUs and copies recorded from one to the other; or, where both ends are on one GPU,
// copies recorded within it and a PCIe port that the payload did not cross.
//
// A claim is no observation. Observations of other message sizes do not count, nor do those that
// are unavailable or insensitive. The whole is as good as its weakest part.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/observation.h"

namespace gdrbench::evidence {

/// What is judged: one row, that is one transport with its settings, between two memories, of one
/// message size.
struct Subject {
  std::string claimed;           ///< "direct", "staged", "library-staged": what the row is called
  bool out = true, back = true;  ///< ways on which payload went
  bool initiatorOnGpu = false, responderOnGpu = false;
  bool sameGpu = false;
  bool oneHost = true;  ///< host memory of the one side is beside the GPU of the other
  std::uint64_t bytes = 0;
  /// Every message was checked by the device that owns the bytes; else why not, in words.
  bool verified = false;
  std::string verification;
};

enum class Value { kDirect, kStaged, kUnproved, kConflict, kNotApplicable };
std::string_view name(Value value);  // "direct" "staged" "unproved" "conflict" "n/a"

/// One way and one side, never kBoth.
struct UnitVerdict {
  Way way = Way::kOut;
  Side side = Side::kSource;
  Value value = Value::kUnproved;
  PathKind path = PathKind::kNone;
  std::vector<std::string> reasons;  ///< sentences without a full stop; never empty
};

struct Verdict {
  Value value = Value::kUnproved;
  PathKind path = PathKind::kNone;   ///< kNone also where the units' kinds differ
  std::vector<std::string> reasons;  ///< of the units that decided; never empty
  std::vector<UnitVerdict> units;    ///< empty when not applicable
  /// "direct (nvlink)", "staged", "n/a": as the table shows it.
  [[nodiscard]] std::string text() const;
};

Verdict judge(const Subject& subject, std::span<const Observation> observations);

/// Of several judgements of the same thing (the rounds of a row): their value where they agree;
/// conflict where one is direct and another staged; else the weaker.
Verdict together(std::span<const Verdict> verdicts);

/// The evidence as a short argument, lines that end with a newline: the verdict, its reasons, each
/// observation with what it would have shown otherwise, and what was unavailable.
std::string explain(const Subject& subject, std::span<const Observation> observations);

}  // namespace gdrbench::evidence
