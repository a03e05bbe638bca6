// SPDX-License-Identifier: Apache-2.0
// The commands behind the command line. Each gets its words parsed and answers an exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/report/report.h"
#include "harness/run/progress.h"
#include "transports/registry.h"

namespace gdrbench {

/// Exit status of a command whose words make no sense.
inline constexpr int kUsage = 2;

struct RunWords {
  std::string config;
  std::vector<std::string> sets;
  std::string out;  ///< empty: results/local/<time>_<name>
  bool planOnly = false;
  ProgressStyle progress = ProgressStyle::kAuto;
};
int runCommand(const Registry& registry, const RunWords& words);

int listCommand(const Registry& registry);

/// In a process of its own: probes one transport and prints it; used by `list`, so that what a
/// vendor library does at loading cannot harm the others.
int probeCommand(const Registry& registry, const std::string& transport);

struct ReportWords {
  std::vector<std::string> files;
  report::Format format = report::Format::kTable;
  std::string base;     ///< label that ratios refer to; empty: as stored
  std::string explain;  ///< id of a row whose evidence is printed instead of the report
};
int reportCommand(const ReportWords& words);

struct DoctorWords {
  std::string gpu, nic;  ///< empty: all
  std::string peer;      ///< file; empty: none
  bool json = false;
};
int doctorCommand(const Registry& registry, const DoctorWords& words);

/// "config" | "results".
int schemaCommand(const Registry& registry, const std::string& what);

/// Prints configs/README.md.
int configReferenceCommand(const Registry& registry);

/// On standard error; answers the exit status of a usage or configuration error.
int complain(const Error& error);

/// How standard output can be written to.
report::Style styleOfOutput();

/// Path of the running executable.
std::string ownPath();

}  // namespace gdrbench
