// SPDX-License-Identifier: Apache-2.0
// Runs a plan: every case, every round, in its order; keeps the document and the journal; never
// loads a vendor library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/core/result.h"
#include "harness/report/document.h"
#include "harness/run/plan.h"
#include "harness/run/progress.h"

namespace gdrbench {

struct ConductRequest {
  const Registry& registry;
  const Plan& plan;
  std::string program;        ///< path of this executable
  std::string folder;         ///< for the results; made by this call
  std::string effectiveYaml;  ///< stored, and can be run again
  ProgressSink& progress;
};

struct ConductResult {
  report::Document document;
  bool interrupted = false;
  /// Results that could not be written (a full disk): the document is complete, the files are not.
  std::optional<Error> lost;
};

/// An Error only when nothing was run: the folder cannot be made, or has results already.
Result<ConductResult> conduct(const ConductRequest& request);

/// Exit status for a finished run: 0, 1, 3, 4, 77 or 130 (see program.h), and in `why` the
/// expectations that were not met, one line each.
int exitStatus(const Plan& plan, const ConductResult& result, std::string& why);

}  // namespace gdrbench
