// SPDX-License-Identifier: Apache-2.0
// The result document: everything that a report shows and a comparison needs, as plain data. It is
// written as results.json (schema: `gdrbench schema results`) and read back by `gdrbench report`.
// Reporters read nothing else.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.h"
#include "harness/core/summary.h"
#include "harness/evidence/verdict.h"

namespace gdrbench::report {

inline constexpr int kSchemaVersion = 1;

/// Ordered pairs: what a side reports about itself, in the order in which it said it.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Key of the fact by which a side names the GPU that holds its memory: its PCI address.
inline constexpr const char* kGpuFact = "gpu";
/// Key of the fact by which a side names its host, where the two are not on one.
inline constexpr const char* kHostFact = "host";

enum class OutcomeKind { kOk, kSkipped, kFailed };

/// One side's account of a failure.
struct SideError {
  std::string side;   ///< "conductor", "initiator", "responder"
  std::string phase;  ///< "setup", "connect", "warm-up", "measure", ...
  Error error;
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kOk;
  std::string reason;             ///< one sentence; empty when ok
  std::vector<SideError> errors;  ///< both sides' views; the cause first
};

/// Bytes checked against what was sent.
struct DataCheck {
  std::string mode = "all";  ///< all | sample | off | none (the transport moves no bytes)
  std::uint64_t messages = 0, bytes = 0;  ///< checked on both sides together
  std::uint64_t sent = 0;                 ///< messages that could have been checked
};

/// One round of one row: new processes, connections and buffers.
struct Run {
  int round = 0;              ///< from 0
  int position = 0;           ///< in the order of the whole run, from 0
  double startedSeconds = 0;  ///< since the start of the whole run
  Outcome outcome;
  std::string
      stopReason;  ///< precision | iterations | max_time | noise_floor; empty if not reached
  bool steady = false;
  std::uint64_t warmupMessages = 0;
  double warmupSeconds = 0;
  std::optional<double> firstMessageNs;  ///< the cold one
  std::uint64_t messages = 0;            ///< measured, done so far when it failed
  std::optional<LatencySummary> latency;
  std::optional<RateSummary> rate;
  DataCheck check;
  double setupSeconds = 0, connectSeconds = 0, measureSeconds = 0;
  std::optional<double> timedSeconds;  ///< of measureSeconds, in which messages moved
  /// Of its measured time: in how much of it each pair beside it moved messages, the least of them.
  /// Only where there are others.
  std::optional<double> company;
  Facts initiator, responder;  ///< effective: claims of the transport, host, CPU, memory
  std::string samplesFile;     ///< raw samples beside the document; empty if none
  std::uint64_t samples = 0;   ///< in that file
  std::string samplesDigest;   ///< fnv1a-64 of the file, hexadecimal
  std::vector<std::string> notes;
  /// Of the path, by both sides' witnesses, in the initiator's terms.
  std::vector<evidence::Observation> observations;
};

/// What the evidence of a row comes to. Stored for who reads the file; reports judge again.
struct PathVerdict {
  std::string verdict;  ///< "direct", "staged", "unproved", "conflict", "n/a"
  std::string by;       ///< "nvlink", "pcie-switch", ...; empty: not direct, or several
  std::vector<std::string> reasons;  ///< sentences
};

/// A short run whose path is known beforehand. A witness that does not tell the two kinds apart is
/// insensitive on this machine.
struct Control {
  std::string name;   ///< what was done, in words
  std::string truth;  ///< direct | staged
  /// As of rows: it counts for those of the same memory. Empty in older results: for all.
  std::string memory;
  Outcome outcome;
  std::vector<evidence::Observation> observations;
};

/// A level over all good runs of a row, with its interval over runs and blocks.
struct Level {
  double value = 0;
  std::optional<Interval> interval;
};

struct RatioToBase {
  std::string base;  ///< label of the row it is compared with
  Level level;  ///< this over base; of p50 latency (less is better) or of rate (more is better)
};

/// What the report shows for one row; absent parts were not measured or have too few samples.
struct Headline {
  // ping-pong: nanoseconds per sample, medians over the runs of each run's statistic
  std::optional<Level> p50Ns;
  std::optional<double> p90Ns, p99Ns, p999Ns, minNs, maxNs;
  // stream
  std::optional<Level> bytesPerSecond;
  std::optional<double> messagesPerSecond;
  std::optional<RatioToBase> ratio;
  /// Of a row that was measured beside other pairs: over the same row alone, p50 latency or rate.
  std::optional<Level> toAlone;
  std::optional<double> harnessShare;  ///< null transport's p50 over this p50, same pattern
};

struct Row {
  std::string id;     ///< unique in the document
  std::string label;  ///< of the transport entry
  std::string transport;
  std::string operation;  ///< "send", "write with CQ data", "read"
  std::string path;       ///< as asked for: direct | staged | library-staged
  std::string drive;      ///< host | stream
  std::string memory;     ///< "host", or "cuda:0 -> cuda:1"
  std::string pattern;
  std::uint64_t bytes = 0;
  std::string direction;                ///< uni | bi; empty for ping-pong
  std::uint32_t window = 1, batch = 1;  ///< effective
  /// Pairs of memory that were measured at the same time, without this one; absent: none.
  std::optional<std::uint32_t> beside;
  std::string sample;  ///< "round trip" | "full operation" | "block"
  Facts requested;     ///< as configured, defaults included
  Facts effective;     ///< as the initiator found it, plus what differs on the responder
  Outcome outcome;
  DataCheck check;  ///< all runs together
  std::vector<Run> runs;
  /// Another run, with the witnesses that may disturb: its figures are not those of the row.
  std::optional<Run> witness;
  std::optional<PathVerdict> verdict;
  Headline headline;
  std::vector<std::string> marks;  ///< "not_steady", "drift", "two_modes", "below_resolution", ...
};

/// What the harness itself costs, measured in this run.
struct Overhead {
  std::string clock;  ///< "tsc", "monotonic"
  double clockReadNs = 0, clockGranularityNs = 0;
  std::string clockNote;
  std::optional<LatencySummary> nullPingPong;  ///< round trips of the null transport
  std::optional<double> nullStreamNs;          ///< per message, streaming over null
};

struct Document {
  std::string version, build;       ///< of gdrbench
  std::string name;                 ///< of the configuration
  std::string started, finished;    ///< UTC, ISO 8601; finished empty while running
  std::string status = "complete";  ///< complete | interrupted | aborted
  std::string base;                 ///< label that ratios refer to
  std::string planDigest;
  std::string config;  ///< effective configuration, as YAML that runs again
  Facts environment;
  Overhead overhead;
  std::vector<Control> controls;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

boost::json::value toJson(const Document& document);
boost::json::value toJson(const Run& run);
boost::json::value toJson(const Control& control);
boost::json::value toJson(const Row& row, bool withRuns);

/// Strict: unknown or missing keys, wrong types and a newer schema version are errors that name the
/// place ("rows[3].runs[0].latency.p50_ns").
Result<Document> documentFromJson(const boost::json::value& value);
Result<Control> controlFromJson(const boost::json::value& value);
Result<Run> runFromJson(const boost::json::value& value);
Result<Row> rowFromJson(const boost::json::value& value);

/// JSON schema (2020-12) of results.json.
boost::json::value resultsSchema();

}  // namespace gdrbench::report
