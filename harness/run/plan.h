// SPDX-License-Identifier: Apache-2.0
// From a configuration to explicit cases: the product of its lists.
#pragma once

#include <string>
#include <vector>

#include "harness/config/config.h"
#include "harness/run/case.h"
#include "transports/registry.h"

namespace gdrbench {

struct Expectations {
  std::optional<double> minBytesPerSecond;
  std::optional<double> maxP50Ns, maxP99Ns;  ///< latency: half a round trip
  std::string path;                          ///< "direct" or "staged"; empty: any
};

/// A case whose path is known beforehand.
struct ControlCase {
  std::string what;  ///< in words
  bool staged = false;
  Case testCase;
};

/// Cases that are measured at the same time, by their number in the plan. Mostly one alone.
using CaseGroup = std::vector<std::size_t>;

struct Plan {
  std::string name;
  std::string base;  ///< label that ratios refer to
  int rounds = 1;
  std::vector<Case> cases;  ///< patterns, sizes, then transports: what is compared is adjacent
  std::vector<CaseGroup> groups;  ///< all that can run, each in one group
  Expectations expect;
  /// Groups that get a witness pass, in their order.
  std::vector<CaseGroup> witnessed;
  std::vector<ControlCase> controls;  ///< for these
  std::string digest;
};

/// Checks what needs more than one option: batch above window, unknown base, CPUs that may not be
/// used, memory that a transport does not take (those cases are marked as skipped). Errors have
/// the place of what caused them.
Result<Plan> makePlan(const config::RunConfig& config, const Registry& registry);

/// Which groups get a witness pass, and the controls that these need. `witness`: the option's word.
void planWitnesses(Plan& plan, std::string_view witness, const Registry& registry);

/// The same case as a witness pass: short, and with all witnesses.
Case witnessPass(const Case& timed);

/// Numbers of groups in one round: 0, 1, 2 ... in even rounds and backwards in odd ones (ABBA), so
/// that a machine that slows down or speeds up favours nobody.
std::vector<std::size_t> orderOfRound(std::size_t groups, int round);

/// For --plan: one line for each case, and what the whole may take.
std::string describePlan(const Plan& plan);

}  // namespace gdrbench
