// SPDX-License-Identifier: Apache-2.0
// The output folder of a run. Each finished run of a row is appended to results.jsonl as one line
// and synced, so that a crash, Ctrl-C or a full disk loses none; at the end results.json is written
// beside it in one step (write, sync, rename).
//
// results.jsonl: first line {"document": header without rows}, then a line {"row": row without its
// runs} before the first run of each row, {"run": {"row": id, "result": run}} for each run,
// {"witness":
// ...} of the same shape for a row's witness pass, and {"control": ...} for each control.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <span>
#include <string>

#include "harness/core/result.h"
#include "harness/report/document.h"

namespace gdrbench::report {

class Journal {
 public:
  /// Makes `folder` (and its parents). When it already holds one of the files that a run writes,
  /// that is an error: nothing is overwritten.
  static Result<Journal> open(const std::string& folder, const Document& header);
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  Status addRow(const Row& row);
  Status addRun(const std::string& rowId, const Run& run);
  Status addWitness(const std::string& rowId, const Run& run);
  Status addControl(const Control& control);

  /// Raw samples of one run in time order: little-endian doubles, nanoseconds. Sets the run's
  /// samplesFile, samples and samplesDigest.
  Status writeSamples(const std::string& rowId, Run& run, std::span<const double> nanoseconds);

  /// Writes results.json, results.csv, report.md and config.yaml.
  Status finish(const Document& document);

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  Journal(std::string folder, int fd);
  Status append(boost::json::object body);
  std::string folder_;
  int fd_;
};

}  // namespace gdrbench::report
