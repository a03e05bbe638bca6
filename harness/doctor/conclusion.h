// SPDX-License-Identifier: Apache-2.0
// What the checks mean for one path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/check.h"
#include "harness/doctor/checks.h"

namespace gdrbench::doctor {

enum class Verdict { kPossible, kSlow, kImpossible, kUnknown };
/// "possible", "possible, slow", "not possible here", "unknown".
std::string_view name(Verdict verdict);
std::span<const std::string_view> wordsOf(Verdict);

enum class Kind {
  kGpuToNic,
  kGpuToGpu,
  kGpuSide,  ///< of a path to a NIC that is not there: no path by itself
  kMachine,  ///< there is nothing to make a path of
};
/// "gpu-nic", "gpu-gpu", "gpu", "machine".
std::string_view name(Kind kind);
std::span<const std::string_view> wordsOf(Kind);

struct Conclusion {
  Kind kind = Kind::kMachine;
  std::string subject;
  Verdict verdict = Verdict::kUnknown;
  std::string why;                     ///< empty only for "possible"
  std::vector<std::string> decidedBy;  ///< ids of checks

  bool operator==(const Conclusion&) const = default;
};

std::vector<Conclusion> conclude(const Inputs& inputs, const Selection& selection,
                                 const std::vector<Check>& checks);

}  // namespace gdrbench::doctor
