// SPDX-License-Identifier: Apache-2.0
#include "harness/run/summarise.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "harness/measure/statistics.h"

namespace gdrbench {
namespace {

using report::OutcomeKind;
using report::Row;
using report::Run;

/// A row is as good as the worst of its runs.
void judge(Row& row) {
  if (row.runs.empty()) {
    if (row.outcome.kind == OutcomeKind::kOk) {
      row.outcome = {OutcomeKind::kFailed, "did not run", {}};
    }
    return;
  }
  const auto worst =
      std::max_element(row.runs.begin(), row.runs.end(),
                       [](const Run& a, const Run& b) { return a.outcome.kind < b.outcome.kind; });
  row.outcome = worst->outcome;
  if (worst->outcome.kind != OutcomeKind::kOk && row.runs.size() > 1) {
    row.outcome.reason = fmt::format("round {}: {}", worst->round + 1, worst->outcome.reason);
  }
}

void addChecks(Row& row) {
  row.check = {};
  if (!row.runs.empty()) row.check.mode = row.runs.front().check.mode;
  for (const Run& run : row.runs) {
    row.check.messages += run.check.messages;
    row.check.bytes += run.check.bytes;
    row.check.sent += run.check.sent;
  }
}

bool isGood(const Row& row) {
  return row.outcome.kind == OutcomeKind::kOk && !row.runs.empty();
}

/// Block medians of latencies or block rates, run by run; empty when a run has neither.
std::vector<RunBlocks> blocksOf(const Row& row) {
  std::vector<RunBlocks> all;
  for (const Run& run : row.runs) {
    const auto& blocks = run.latency ? run.latency->blockMedians
                         : run.rate  ? run.rate->blockRates
                                     : RunBlocks{};
    if (blocks.empty()) return {};
    all.push_back(blocks);
  }
  return all;
}

using Picked = std::function<std::optional<double>(const Run&)>;

/// Median over the runs; absent unless every run has the value.
std::optional<double> medianOver(const Row& row, const Picked& pick) {
  std::vector<double> values;
  for (const Run& run : row.runs) {
    const auto value = pick(run);
    if (!value) return {};
    values.push_back(*value);
  }
  if (values.empty()) return {};
  return median(values);
}

Picked latency(std::optional<double> LatencySummary::*member) {
  return [member](const Run& run) {
    return run.latency ? (*run.latency).*member : std::optional<double>();
  };
}
Picked latency(double LatencySummary::*member) {
  return [member](const Run& run) {
    return run.latency ? std::optional((*run.latency).*member) : std::nullopt;
  };
}
Picked rate(double RateSummary::*member) {
  return [member](const Run& run) {
    return run.rate ? std::optional((*run.rate).*member) : std::nullopt;
  };
}

void fillLatency(Row& row, const std::vector<RunBlocks>& blocks) {
  report::Headline& head = row.headline;
  head.p50Ns =
      report::Level{*medianOver(row, latency(&LatencySummary::p50)), levelOf(blocks).interval};
  head.p90Ns = medianOver(row, latency(&LatencySummary::p90));
  head.p99Ns = medianOver(row, latency(&LatencySummary::p99));
  head.p999Ns = medianOver(row, latency(&LatencySummary::p999));
  for (const Run& run : row.runs) {
    head.minNs = std::min(head.minNs.value_or(run.latency->min), run.latency->min);
    head.maxNs = std::max(head.maxNs.value_or(run.latency->max), run.latency->max);
  }
}

void fillRate(Row& row, const std::vector<RunBlocks>& blocks) {
  row.headline.bytesPerSecond =
      report::Level{*medianOver(row, rate(&RateSummary::bytesPerSecond)), levelOf(blocks).interval};
  row.headline.messagesPerSecond = medianOver(row, rate(&RateSummary::messagesPerSecond));
}

void fillHarnessShare(Row& row, const report::Overhead& overhead) {
  if (row.headline.p50Ns && overhead.nullPingPong && row.headline.p50Ns->value > 0) {
    row.headline.harnessShare = overhead.nullPingPong->p50 / row.headline.p50Ns->value;
  }
  if (row.headline.messagesPerSecond && overhead.nullStreamNs) {
    row.headline.harnessShare = *overhead.nullStreamNs * *row.headline.messagesPerSecond / 1e9;
  }
}

void mark(Row& row, const report::Overhead& overhead) {
  const auto add = [&](const char* word) {
    if (std::find(row.marks.begin(), row.marks.end(), word) == row.marks.end()) {
      row.marks.emplace_back(word);
    }
  };
  for (const Run& run : row.runs) {
    if (!run.steady) add(run.warmupMessages == 0 ? "no_warmup" : "not_steady");
    if ((run.latency && run.latency->drift) || (run.rate && run.rate->drift)) add("drift");
    if (run.latency && run.latency->modes) add("two_modes");
    if (run.stopReason == "max_time" || run.stopReason == "noise_floor") add("imprecise");
  }
  if (row.check.mode == "sample") add("sampled_check");
  if (row.check.mode == "off") add("unchecked");
  const report::Headline& head = row.headline;
  if (head.p50Ns && head.p50Ns->value < 10 * overhead.clockGranularityNs) add("below_resolution");
  const bool reference = row.check.mode == "none";
  if (!reference && head.p999Ns && overhead.nullPingPong && overhead.nullPingPong->p999 &&
      *overhead.nullPingPong->p999 >= *head.p999Ns / 2) {
    add("host_limited");
  }
}

std::string groupOf(const Row& row) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", row.pattern, row.bytes, row.direction, row.window,
                     row.batch, row.memory, row.path, row.drive);
}

void compareWithBase(report::Document& document) {
  std::unordered_map<std::string, std::vector<RunBlocks>> bases;
  for (const Row& row : document.rows) {
    if (row.label == document.base && isGood(row)) bases.emplace(groupOf(row), blocksOf(row));
  }
  for (Row& row : document.rows) {
    if (!isGood(row) || row.label == document.base) continue;
    const auto base = bases.find(groupOf(row));
    const std::vector<RunBlocks> blocks = blocksOf(row);
    if (base == bases.end() || base->second.empty() || blocks.empty()) continue;
    const Ratio ratio = ratioOf(blocks, base->second);
    row.headline.ratio = {document.base, {ratio.value, ratio.interval}};
  }
}

}  // namespace

void summarise(report::Document& document) {
  for (Row& row : document.rows) {
    judge(row);
    addChecks(row);
    row.headline = {};
    row.marks.clear();
    if (!isGood(row)) continue;
    const std::vector<RunBlocks> blocks = blocksOf(row);
    if (blocks.empty()) {
      row.outcome = {OutcomeKind::kFailed, "a run has no samples", {}};
      continue;
    }
    if (row.runs.front().latency) {
      fillLatency(row, blocks);
    } else {
      fillRate(row, blocks);
    }
    fillHarnessShare(row, document.overhead);
    mark(row, document.overhead);
  }
  compareWithBase(document);
}

}  // namespace gdrbench
