// SPDX-License-Identifier: Apache-2.0
// The CPUs of one side of a case: one on which it polls, others for the threads that a library
// starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/run/case.h"
#include "transports/transport.h"

namespace gdrbench {

class SideCpus {
 public:
  /// What the case asks for, else near the side's GPU; the calling thread runs there from here on.
  /// Nothing is pinned where neither is known.
  Status pin(const Case& testCase, Role role);
  /// Until the lane is connected: threads that a library starts inherit the CPUs of who starts
  /// them, and would share the one that polls.
  [[nodiscard]] Status leave() const;
  [[nodiscard]] Status comeBack() const;

  [[nodiscard]] std::optional<int> own() const { return own_; }
  /// Whoever waits must yield, since somebody else needs the same CPU.
  [[nodiscard]] bool shared() const { return shared_; }
  /// Why they are shared, for the report; empty: each has its own.
  [[nodiscard]] const std::string& sharedWhy() const { return sharedWhy_; }

 private:
  std::optional<int> own_;
  std::vector<int> ofPair_;  ///< those allowed that no pair at the same time has
  std::vector<int> polling_;
  bool shared_ = false;
  std::string sharedWhy_;
};

}  // namespace gdrbench
