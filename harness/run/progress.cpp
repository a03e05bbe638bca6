// SPDX-License-Identifier: Apache-2.0
#include "harness/run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace gdrbench {
namespace {

std::string timeLeft(double seconds) {
  if (seconds < 0) return "estimating the time left";
  if (seconds < 90) return fmt::format("about {:.0f} s left", seconds);
  return fmt::format("about {:.0f} min left", seconds / 60);
}

}  // namespace

ConsoleProgress::ConsoleProgress(ProgressStyle style) : style_(style) {
  if (style == ProgressStyle::kAuto && isatty(STDERR_FILENO) == 0) style_ = ProgressStyle::kOff;
}

ConsoleProgress::~ConsoleProgress() {
  if (lineOpen_) fmt::print(stderr, "\r\x1b[K");
}

void ConsoleProgress::starting(std::size_t done, std::size_t total, int round,
                               const std::string& id, double secondsLeft) {
  if (style_ == ProgressStyle::kAuto) {
    fmt::print(stderr, "\r\x1b[K[{}/{}] round {}  {}  ({})", done + 1, total, round + 1, id,
               timeLeft(secondsLeft));
    std::fflush(stderr);
    lineOpen_ = true;
  } else if (style_ == ProgressStyle::kPlain) {
    fmt::print(stderr, "start {}/{} round {} {} ({})\n", done + 1, total, round + 1, id,
               timeLeft(secondsLeft));
  }
}

void ConsoleProgress::phase(std::string_view side, std::string_view phase) {
  if (style_ == ProgressStyle::kPlain) fmt::print(stderr, "phase {} {}\n", side, phase);
}

void ConsoleProgress::finished(const report::Run& run, const std::string& id) {
  const bool failed = run.outcome.kind == report::OutcomeKind::kFailed;
  if (style_ == ProgressStyle::kPlain) {
    fmt::print(stderr, "end {} {}\n", id, failed ? "failed: " + run.outcome.reason : "done");
  } else if (style_ == ProgressStyle::kAuto && failed) {
    fmt::print(stderr, "\r\x1b[Kfailed: {}: {}\n", id, run.outcome.reason);
    lineOpen_ = false;
  }
}

}  // namespace gdrbench
