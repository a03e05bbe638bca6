// SPDX-License-Identifier: Apache-2.0
#include "harness/report/path_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/evidence/calibration.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

using evidence::Observation;
using evidence::Verdict;

struct Ends {
  std::string initiator, responder;
};

Ends endsOf(const Row& row) {
  constexpr std::string_view kTo = " -> ";
  const std::size_t at = row.memory.find(kTo);
  if (at == std::string::npos) return {row.memory, row.memory};
  return {row.memory.substr(0, at), row.memory.substr(at + kTo.size())};
}

bool onGpu(const std::string& memory) {
  return memory.starts_with("cuda");
}

/// Two names can mean one GPU: where the workers found out, their addresses decide.
bool sameGpu(const Ends& ends, const Run& run) {
  if (!onGpu(ends.initiator) || !onGpu(ends.responder)) return false;
  const std::string mine = factOf(run.initiator, kGpuFact);
  const std::string theirs = factOf(run.responder, kGpuFact);
  if (!mine.empty() && !theirs.empty()) return mine == theirs;
  return ends.initiator == ends.responder;
}

void sayVerified(evidence::Subject& subject, const DataCheck& check) {
  subject.verified = check.mode == "all" && check.sent != 0 && check.messages == check.sent;
  subject.verification = check.mode == "all"
                             ? fmt::format("{} of {} messages", check.messages, check.sent)
                             : "verify: " + check.mode;
}

evidence::Subject subjectOf(const Row& row, const Run& run) {
  const Ends ends = endsOf(row);
  evidence::Subject subject{
      .claimed = row.path,
      .initiatorOnGpu = onGpu(ends.initiator),
      .responderOnGpu = onGpu(ends.responder),
      .sameGpu = sameGpu(ends, run),
      .oneHost = factOf(run.initiator, kHostFact) == factOf(run.responder, kHostFact),
      .bytes = row.bytes};
  if (isStream(row)) subject.back = row.direction == "bi";
  // A fetched message is the peer's; the request has no payload.
  if (!isStream(row) && !isRoundTrip(row)) subject.out = false;
  sayVerified(subject, run.check);
  return subject;
}

/// What reacts on one GPU may be dead on another: a control counts for its own memory.
bool isFor(const Control& control, const Row& row) {
  return control.memory.empty() || control.memory == row.memory;
}

std::vector<evidence::ControlSeen> seenFor(const Row& row, std::span<const Control> controls) {
  std::vector<evidence::ControlSeen> seen;
  for (const Control& control : controls) {
    if (control.outcome.kind != OutcomeKind::kOk || !isFor(control, row)) continue;
    seen.push_back({control.name, control.truth == "staged", control.observations});
  }
  return seen;
}

std::vector<Observation> observationsOf(const Row& row, const Run& run,
                                        std::span<const evidence::ControlSeen> controls) {
  std::vector<Observation> all = run.observations;
  if (row.witness && row.witness->outcome.kind == OutcomeKind::kOk) {
    const auto& more = row.witness->observations;
    all.insert(all.end(), more.begin(), more.end());
  }
  return evidence::calibrated(all, controls);
}

std::vector<const Run*> goodRuns(const Row& row) {
  std::vector<const Run*> good;
  for (const Run& run : row.runs) {
    if (run.outcome.kind == OutcomeKind::kOk) good.push_back(&run);
  }
  return good;
}

constexpr const char* kDiffers = "path_differs";

bool differsFromAsked(const Row& row, const PathVerdict& verdict) {
  const bool askedDirect = row.path == "direct";
  return verdict.verdict == "conflict" || verdict.verdict == (askedDirect ? "staged" : "direct");
}

}  // namespace

PathVerdict judgePath(const Row& row, std::span<const Control> controls) {
  const auto seen = seenFor(row, controls);
  std::vector<Verdict> verdicts;
  for (const Run* run : goodRuns(row)) {
    verdicts.push_back(evidence::judge(subjectOf(row, *run), observationsOf(row, *run, seen)));
  }
  const Verdict verdict = evidence::together(verdicts);
  return {std::string(name(verdict.value)), std::string(name(verdict.path)), verdict.reasons};
}

std::string explainPath(const Row& row, std::span<const Control> controls) {
  const auto runs = goodRuns(row);
  if (runs.empty()) return "no run of this row ended well: there is nothing to judge\n";
  const PathVerdict whole = judgePath(row, controls);
  std::string text = evidence::explain(subjectOf(row, *runs.back()),
                                       observationsOf(row, *runs.back(), seenFor(row, controls)));
  if (runs.size() > 1) {
    text =
        fmt::format("all {} rounds: {}\nthe last of them:\n{}", runs.size(), whole.verdict, text);
  }
  if (row.witness && row.witness->outcome.kind != OutcomeKind::kOk) {
    text += fmt::format("the witness pass failed: {}\n", row.witness->outcome.reason);
  }
  for (const Control& control : controls) {
    if (control.outcome.kind == OutcomeKind::kOk || !isFor(control, row)) continue;
    text += fmt::format("a control did not run ({}): {}\n", control.name, control.outcome.reason);
  }
  return text;
}

void judgePaths(Document& document) {
  for (Row& row : document.rows) {
    row.verdict.reset();
    std::erase(row.marks, kDiffers);
    if (!isOk(row)) continue;
    row.verdict = judgePath(row, document.controls);
    if (differsFromAsked(row, *row.verdict)) row.marks.emplace_back(kDiffers);
  }
}

std::string verdictText(const Row& row) {
  if (!row.verdict || !isOk(row)) return "-";
  const PathVerdict& verdict = *row.verdict;
  return verdict.by.empty() ? verdict.verdict : fmt::format("{} ({})", verdict.verdict, verdict.by);
}

}  // namespace gdrbench::report
