// SPDX-License-Identifier: Apache-2.0
// `gdrbench doctor`: all that was found about this machine, as data; its JSON and its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/doctor/check.h"
#include "harness/doctor/conclusion.h"
#include "harness/doctor/inputs.h"

namespace gdrbench::doctor {

/// What the command line asks for; empty: all.
struct Wanted {
  std::string gpu;  ///< NVML's index, UUID or PCI address
  std::string nic;  ///< RDMA device or one of its network interfaces
};

/// What two machines should have in common, or should differ in by intent only.
struct Fact {
  std::string key, value;

  bool operator==(const Fact&) const = default;
};

struct Examination {
  std::string program;  ///< build of gdrbench
  std::string host;
  std::vector<Fact> facts;
  std::vector<Check> checks;
  std::vector<Conclusion> conclusions;

  bool operator==(const Examination&) const = default;
};

/// An Error of kind kUsage that lists what there is when something that is not there is asked for
/// on a machine that has others of its kind. Where there are none at all, that is the conclusion.
Result<Examination> examine(const Inputs& inputs, const Wanted& wanted);

/// 0: a direct path is possible for at least one subject; 4: for none, and of some it is unknown;
/// 3: for none.
int exitStatus(const Examination& examination);

inline constexpr int kSchemaVersion = 1;
std::string toJson(const Examination& examination);
/// `source` names the text in errors; these say which part does not fit.
Result<Examination> examinationFromJson(std::string_view text, const std::string& source);

/// For people. `width`: of a line; 0: unlimited.
std::string show(const Examination& examination, std::size_t width);

// --- another machine's

inline constexpr std::size_t kMostPeerBytes = std::size_t{8} << 20;
/// A file with the JSON of another machine, of at most kMostPeerBytes.
Result<Examination> readExamination(const std::string& path);

struct Difference {
  std::string key, here, there;  ///< a side that has no such fact: "-"

  bool operator==(const Difference&) const = default;
};
std::vector<Difference> differences(const Examination& here, const Examination& there);
std::string show(const std::vector<Difference>& differences, const Examination& peer,
                 std::size_t width);

}  // namespace gdrbench::doctor
