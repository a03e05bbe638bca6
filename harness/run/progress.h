// SPDX-License-Identifier: Apache-2.0
// What the user sees while a run goes on. Told between cases and when a side enters a phase; never
// during a timed section.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/document.h"

namespace gdrbench {

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual void starting(std::size_t done, std::size_t total, int round, const std::string& id,
                        double secondsLeft) = 0;
  virtual void phase(std::string_view side, std::string_view phase) = 0;
  virtual void finished(const report::Run& run, const std::string& id) = 0;
};

enum class ProgressStyle {
  kAuto,   ///< a line that is rewritten, on a terminal; nothing elsewhere
  kPlain,  ///< one line for each event, for logs and scripts
  kOff,
};

/// Writes to standard error.
class ConsoleProgress final : public ProgressSink {
 public:
  explicit ConsoleProgress(ProgressStyle style);
  ~ConsoleProgress() override;
  void starting(std::size_t done, std::size_t total, int round, const std::string& id,
                double secondsLeft) override;
  void phase(std::string_view side, std::string_view phase) override;
  void finished(const report::Run& run, const std::string& id) override;

 private:
  ProgressStyle style_;
  bool lineOpen_ = false;
};

}  // namespace gdrbench
