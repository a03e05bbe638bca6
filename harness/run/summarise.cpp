// SPDX-License-Identifier: Apache-2.0
#include "harness/run/summarise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "harness/measure/statistics.h"
#include "harness/report/matrix.h"

namespace gdrbench {
namespace {

using report::OutcomeKind;
using report::Row;
using report::Run;
using Runs = std::vector<const Run*>;

/// Stopped by the user, not by a fault: what the other rounds found stands.
bool wasStopped(const Run& run) {
  const auto& errors = run.outcome.errors;
  return !errors.empty() && errors.front().side == "conductor" &&
         errors.front().error.code == ErrorCode::kCancelled;
}

/// The runs that a row is judged by.
Runs countedRuns(const Row& row) {
  Runs runs;
  for (const Run& run : row.runs) {
    if (!wasStopped(run)) runs.push_back(&run);
  }
  return runs;
}

report::Outcome outcomeWithoutRuns(const Row& row, const std::string& status) {
  if (!row.runs.empty()) return {OutcomeKind::kSkipped, "interrupted by the user", {}};
  if (row.outcome.kind == OutcomeKind::kSkipped) return row.outcome;  // known before the run
  if (status == "complete") return {OutcomeKind::kFailed, "did not run", {}};
  return {OutcomeKind::kSkipped, "did not run: " + status, {}};
}

/// A row is as good as the worst of its runs.
report::Outcome outcomeOf(const Row& row, const Runs& runs, const std::string& status) {
  if (runs.empty()) return outcomeWithoutRuns(row, status);
  const Run& worst = **std::max_element(runs.begin(), runs.end(), [](const Run* a, const Run* b) {
    return a->outcome.kind < b->outcome.kind;
  });
  report::Outcome outcome = worst.outcome;
  if (outcome.kind != OutcomeKind::kOk && row.runs.size() > 1) {
    outcome.reason = fmt::format("round {}: {}", worst.round + 1, outcome.reason);
  }
  return outcome;
}

report::DataCheck checkOf(const Row& row) {
  report::DataCheck check;
  if (!row.runs.empty()) check.mode = row.runs.front().check.mode;
  for (const Run& run : row.runs) {
    check.messages += run.check.messages;
    check.bytes += run.check.bytes;
    check.sent += run.check.sent;
  }
  return check;
}

// --- figures of good rows ------------------------------------------------------------------------

/// All runs have latencies, or all have rates.
template <class Summary>
bool allHave(const Runs& runs, std::optional<Summary> Run::*part) {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(),
                                      [&](const Run* run) { return (run->*part).has_value(); });
}

RunBlocks blocksOf(const LatencySummary& latency) {
  return latency.blockMedians.empty() ? RunBlocks{latency.p50} : latency.blockMedians;
}

/// The level of a stream is all bytes over all time, stalls included, which can lie below the
/// median of its blocks; the blocks give the spread around it.
RunBlocks blocksOf(const RateSummary& rate) {
  const double middle = rate.blockRates.empty() ? 0 : median(rate.blockRates);
  if (!(middle > 0)) return {rate.bytesPerSecond};
  RunBlocks blocks = rate.blockRates;
  for (double& block : blocks) block *= rate.bytesPerSecond / middle;
  return blocks;
}

template <class Summary>
std::vector<RunBlocks> blocksOf(const Runs& runs, std::optional<Summary> Run::*part) {
  std::vector<RunBlocks> all;
  for (const Run* run : runs) all.push_back(blocksOf(*(run->*part)));
  return all;
}

/// Empty for a row without figures.
std::vector<RunBlocks> blocksOf(const Row& row) {
  const Runs runs = countedRuns(row);
  if (allHave(runs, &Run::latency)) return blocksOf(runs, &Run::latency);
  if (allHave(runs, &Run::rate)) return blocksOf(runs, &Run::rate);
  return {};
}

/// Median over the runs; absent unless every run has the value.
template <class Pick>
std::optional<double> medianOver(const Runs& runs, Pick pick) {
  std::vector<double> values;
  for (const Run* run : runs) {
    const std::optional<double> value = pick(*run);
    if (!value) return {};
    values.push_back(*value);
  }
  return median(values);
}

/// One run has no spread between runs; the interval of its own blocks is all that is known.
report::Level levelOver(const Runs& runs, const std::vector<RunBlocks>& blocks,
                        const std::optional<Interval>& ownInterval) {
  const Ratio level = levelOf(blocks);
  return {level.value, runs.size() == 1 ? ownInterval : level.interval};
}

void fillLatency(report::Headline& head, const Runs& runs) {
  head.p50Ns = levelOver(runs, blocksOf(runs, &Run::latency), runs.front()->latency->p50Interval);
  head.p90Ns = medianOver(runs, [](const Run& run) { return run.latency->p90; });
  head.p99Ns = medianOver(runs, [](const Run& run) { return run.latency->p99; });
  head.p999Ns = medianOver(runs, [](const Run& run) { return run.latency->p999; });
  for (const Run* run : runs) {
    head.minNs = std::min(head.minNs.value_or(run->latency->min), run->latency->min);
    head.maxNs = std::max(head.maxNs.value_or(run->latency->max), run->latency->max);
  }
}

/// The interval of the block median, moved to the level of all bytes over all time.
std::optional<Interval> ownInterval(const RateSummary& rate) {
  if (!rate.p50Interval || !(rate.p50Block > 0)) return {};
  const double factor = rate.bytesPerSecond / rate.p50Block;
  return Interval{rate.p50Interval->low * factor, rate.p50Interval->high * factor,
                  rate.p50Interval->confidence};
}

void fillRate(report::Headline& head, const Runs& runs) {
  head.bytesPerSecond =
      levelOver(runs, blocksOf(runs, &Run::rate), ownInterval(*runs.front()->rate));
  head.messagesPerSecond =
      medianOver(runs, [](const Run& run) { return std::optional(run.rate->messagesPerSecond); });
}

void fillHarnessShare(report::Headline& head, const report::Overhead& overhead) {
  if (head.p50Ns && overhead.nullPingPong && head.p50Ns->value > 0) {
    head.harnessShare = overhead.nullPingPong->p50 / head.p50Ns->value;
  }
  if (head.messagesPerSecond && overhead.nullStreamNs) {
    head.harnessShare = *overhead.nullStreamNs * *head.messagesPerSecond / 1e9;
  }
}

// --- marks ---------------------------------------------------------------------------------------

/// The marks that are made here, and made anew; others have been put on a row by somebody else.
constexpr std::array<std::string_view, 14> kMarks = {
    "not_steady",     "no_warmup",        "drift",          "two_modes",        "imprecise",
    "sampled_check",  "unchecked",        "partly_checked", "below_resolution", "host_limited",
    "rounds_missing", "witness_perturbs", "witness_failed", "little_company"};

void forgetMarks(Row& row) {
  std::erase_if(row.marks, [](const std::string& mark) {
    return std::find(kMarks.begin(), kMarks.end(), mark) != kMarks.end();
  });
}

/// The witness pass is another run of the same case: beside what runs differ by, it must measure
/// what they do, or its evidence may not be theirs.
bool witnessPerturbs(const Row& row) {
  constexpr double kTolerance = 0.10;
  if (!row.witness || row.witness->outcome.kind != OutcomeKind::kOk) return false;
  const Run& run = *row.witness;
  const auto apart = [&](double there, double here) {
    return here > 0 && std::abs(there / here - 1) > kTolerance;
  };
  if (run.latency && row.headline.p50Ns) return apart(run.latency->p50, row.headline.p50Ns->value);
  if (run.rate && row.headline.bytesPerSecond) {
    return apart(run.rate->bytesPerSecond, row.headline.bytesPerSecond->value);
  }
  return false;
}

/// With the others silent for more than a fifth of its time, a row says little of what they cost.
constexpr double kEnoughCompany = 0.8;

void mark(Row& row, const Runs& runs, const report::Overhead& overhead) {
  const auto add = [&](bool holds, std::string_view word) {
    if (!holds || std::find(row.marks.begin(), row.marks.end(), word) != row.marks.end()) return;
    row.marks.emplace_back(word);
  };
  for (const Run* run : runs) {
    add(!run->steady, run->warmupMessages == 0 ? "no_warmup" : "not_steady");
    add((run->latency && run->latency->drift) || (run->rate && run->rate->drift), "drift");
    add(run->latency && run->latency->modes, "two_modes");
    // Beside other pairs time decides, by intent.
    add(!row.beside && (run->stopReason == "max_time" || run->stopReason == "noise_floor"),
        "imprecise");
    add(run->company && *run->company < kEnoughCompany, "little_company");
  }
  const report::DataCheck& check = row.check;
  add(check.mode == "sample", "sampled_check");
  add(check.mode == "off", "unchecked");
  add(check.mode == "all" && check.messages < check.sent, "partly_checked");
  add(runs.size() < row.runs.size(), "rounds_missing");
  add(witnessPerturbs(row), "witness_perturbs");
  add(row.witness && row.witness->outcome.kind != OutcomeKind::kOk, "witness_failed");
  // A transport that moves no data is the measure of the other rows and not measured by itself.
  if (check.mode == "none") return;
  const report::Headline& head = row.headline;
  const auto& null = overhead.nullPingPong;
  add(head.p50Ns && head.p50Ns->value < 10 * overhead.clockGranularityNs, "below_resolution");
  add(null && null->p999 && head.p999Ns && *null->p999 >= *head.p999Ns / 2, "host_limited");
}

void summariseRow(Row& row, const report::Document& document) {
  const Runs runs = countedRuns(row);
  row.outcome = outcomeOf(row, runs, document.status);
  row.check = checkOf(row);
  row.headline = {};
  forgetMarks(row);
  if (row.outcome.kind != OutcomeKind::kOk) return;
  if (allHave(runs, &Run::latency)) {
    fillLatency(row.headline, runs);
  } else if (allHave(runs, &Run::rate)) {
    fillRate(row.headline, runs);
  } else {
    row.outcome = {OutcomeKind::kFailed, "a run ended well and measured nothing", {}};
    return;
  }
  fillHarnessShare(row.headline, document.overhead);
  mark(row, runs, document.overhead);
}

// --- ratios --------------------------------------------------------------------------------------

std::string comparable(const Row& row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", row.pattern, row.sample == "block",
                     row.bytes, row.direction, row.window, row.batch, row.memory, row.path,
                     row.drive);
}

/// The same case but for the pairs beside it.
std::string ownCase(const Row& row) {
  return row.label + "\n" + comparable(row);
}

/// Blocks as latencies: a round trip counts half, as in every table, so that a pull and a push can
/// be compared.
std::vector<RunBlocks> comparableBlocks(const Row& row) {
  std::vector<RunBlocks> all = blocksOf(row);
  if (row.sample != "round trip") return all;
  for (RunBlocks& blocks : all) {
    for (double& block : blocks) block /= 2;
  }
  return all;
}

bool finite(const Ratio& ratio) {
  return std::isfinite(ratio.value) && (!ratio.interval || (std::isfinite(ratio.interval->low) &&
                                                            std::isfinite(ratio.interval->high)));
}

using Bases = std::unordered_map<std::string, std::vector<RunBlocks>>;

std::optional<report::Level> levelAgainst(const Row& row, const Bases& bases,
                                          const std::string& key) {
  const auto base = bases.find(key);
  if (base == bases.end()) return {};
  const Ratio ratio = ratioOf(comparableBlocks(row), base->second);
  if (!finite(ratio)) return {};
  return report::Level{ratio.value, ratio.interval};
}

/// Base and row both alone, or both beside as many.
std::string besideKey(const Row& row) {
  return fmt::format("{}\n{}", comparable(row), row.beside.value_or(0));
}

void compareWithBase(report::Document& document) {
  Bases bases;
  for (const Row& row : document.rows) {
    if (row.label != document.base || row.outcome.kind != OutcomeKind::kOk) continue;
    bases.emplace(besideKey(row), comparableBlocks(row));
  }
  for (Row& row : document.rows) {
    if (row.label == document.base || row.outcome.kind != OutcomeKind::kOk) continue;
    if (auto level = levelAgainst(row, bases, besideKey(row))) {
      row.headline.ratio = {document.base, *level};
    }
  }
}

void compareWithAlone(report::Document& document) {
  Bases alone;
  for (const Row& row : document.rows) {
    if (row.beside || row.outcome.kind != OutcomeKind::kOk) continue;
    alone.emplace(ownCase(row), comparableBlocks(row));
  }
  for (Row& row : document.rows) {
    if (!row.beside || row.outcome.kind != OutcomeKind::kOk) continue;
    row.headline.toAlone = levelAgainst(row, alone, ownCase(row));
  }
}

}  // namespace

void summarise(report::Document& document) {
  for (Row& row : document.rows) summariseRow(row, document);
  compareWithBase(document);
  compareWithAlone(document);
  report::markBelowClass(document);
}

}  // namespace gdrbench
