// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>

#include "harness/report/document.h"

namespace gdrbench::report {

/// A fixed document with every kind of row: good, failed, skipped, pulled, streamed one way and
/// both ways, without percentiles, unchecked, marked, with text that needs care in every format.
Document sampleDocument();

/// Any document: every field filled, absent and present parts, awkward text and numbers.
Document randomDocument(std::mt19937_64& random);
Run randomRun(std::mt19937_64& random);

/// A folder that is removed, with all that is in it, at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string fileText(const std::string& path);
void writeText(const std::string& path, const std::string& text);

}  // namespace gdrbench::report
