// SPDX-License-Identifier: Apache-2.0
// Questions that every kind of report asks about a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "harness/report/document.h"

namespace gdrbench::report {

/// The value of the first fact of that key; empty: there is none.
inline std::string factOf(const Facts& facts, std::string_view key) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == key; });
  return found == facts.end() ? std::string() : found->second;
}

inline bool isOk(const Row& row) {
  return row.outcome.kind == OutcomeKind::kOk;
}

/// What may be shown: the figures of a row that failed are no figures.
inline Headline shownHeadline(const Row& row) {
  return isOk(row) ? row.headline : Headline{};
}

/// Rates of whole blocks, not latencies of messages.
inline bool isStream(const Row& row) {
  return row.sample == "block";
}

/// A round trip is two messages; an operation that fetches the data is one, there and back.
inline bool isRoundTrip(const Row& row) {
  return row.sample == "round trip";
}

/// Half of a sample that is a round trip; the whole of one that is an operation.
inline std::optional<double> latencyOf(const Row& row, std::optional<double> sample) {
  if (!sample) return {};
  return isRoundTrip(row) ? *sample / 2 : *sample;
}

inline std::optional<double> valueOf(const std::optional<Level>& level) {
  return level ? std::optional(level->value) : std::nullopt;
}

inline std::size_t okRuns(const Row& row) {
  return static_cast<std::size_t>(
      std::count_if(row.runs.begin(), row.runs.end(),
                    [](const Run& run) { return run.outcome.kind == OutcomeKind::kOk; }));
}

}  // namespace gdrbench::report
