// SPDX-License-Identifier: Apache-2.0
// The fields of the result document, once: writing, reading and the schema are made from this list,
// so that they cannot drift apart. Private to harness/report.
#pragma once

#include "harness/report/document.h"

namespace gdrbench::report {

// v(key, member, text) for what every document has; v.late(key, member, text) for what came later
// or is mostly empty: it is left out when empty, and empty when it is left out.

template <class V>
void describe(V& v, evidence::Observation& x) {
  v("id", x.id, "the witness");
  v("class", x.kind, "");
  v("bearing", x.bearing, "what it bears upon");
  v("way", x.way, "out: initiator to responder");
  v("side", x.side, "");
  v("bytes", x.bytes, "size of the messages that it was seen with; 0: of every size");
  v("outcome", x.outcome, "what it speaks for");
  v("strength", x.strength, "");
  v("by", x.path, "kind of a direct path; empty: not told");
  v("observed", x.observed, "");
  v("if_direct", x.ifDirect, "what would be seen then");
  v("if_staged", x.ifStaged, "what would be seen then");
  v("reason", x.reason, "why there is nothing, or why it was dropped");
  v("control", x.control, "what showed that it reacts here");
  v("privilege", x.privilege, "");
  v("artefact", x.artefact, "raw, shortened");
}

template <class V>
void describe(V& v, PathVerdict& x) {
  v("verdict", x.verdict, "direct, staged, unproved, conflict or n/a");
  v("by", x.by, "kind of a direct path");
  v("reasons", x.reasons, "");
}

template <class V>
void describe(V& v, Interval& x) {
  v("low", x.low, "");
  v("high", x.high, "");
  v("confidence", x.confidence, "share of such intervals that hold the true value");
}

template <class V>
void describe(V& v, LatencySummary& x) {
  v("n", x.n, "samples");
  v("min_ns", x.min, "");
  v("p50_ns", x.p50, "");
  v("mean_ns", x.mean, "");
  v("stddev_ns", x.stddev, "");
  v("mad_ns", x.mad, "median distance from the median");
  v("max_ns", x.max, "");
  v("p90_ns", x.p90, "null below 10 samples");
  v("p99_ns", x.p99, "null below 368 samples");
  v("p999_ns", x.p999, "null below 3688 samples");
  v("p50_interval_ns", x.p50Interval, "from block medians, by ranks; null below 6 blocks");
  v("lag1", x.lag1, "autocorrelation of neighbouring samples");
  v("drift", x.drift, "first and last third of the blocks differ");
  v("modes_ns", x.modes, "two separate peaks, where there are two");
  v("resolution", x.resolution, "relative error of the percentiles; 0 from raw samples");
  v("block_medians_ns", x.blockMedians, "in time order");
}

template <class V>
void describe(V& v, RateSummary& x) {
  v("messages", x.messages, "both directions together");
  v("bytes", x.bytes, "both directions together");
  v("seconds", x.seconds, "timed");
  v("bandwidth_Bps", x.bytesPerSecond, "bytes over seconds");
  v("messages_per_s", x.messagesPerSecond, "");
  v("min_block_Bps", x.minBlock, "");
  v("p50_block_Bps", x.p50Block, "");
  v("p50_block_interval_Bps", x.p50Interval, "null below 6 blocks");
  v("drift", x.drift, "");
  v("block_rates_Bps", x.blockRates, "in time order");
}

template <class V>
void describe(V& v, Error& x) {
  v("code", x.code, "");
  v("tried", x.tried, "reads after 'could not'");
  v("native_code", x.nativeCode, "errno, or the library's own code; 0: none");
  v("native_text", x.nativeText, "the library's own words");
  v("next", x.next, "what to do about it");
}

template <class V>
void describe(V& v, SideError& x) {
  v("side", x.side, "conductor, initiator or responder");
  v("phase", x.phase, "");
  v("error", x.error, "");
}

template <class V>
void describe(V& v, Outcome& x) {
  v("kind", x.kind, "");
  v("reason", x.reason, "one sentence; empty when ok");
  v("errors", x.errors, "both sides' views, the cause first");
}

template <class V>
void describe(V& v, DataCheck& x) {
  v("mode", x.mode, "all, sample, off, or none where the transport moves no bytes");
  v("messages", x.messages, "checked, on both sides together");
  v("bytes", x.bytes, "checked");
  v("received", x.sent, "messages that could have been checked");
}

template <class V>
void describe(V& v, Run& x) {
  v("round", x.round, "from 0");
  v("position", x.position, "in the order of the whole run, from 0");
  v("started_s", x.startedSeconds, "since the start of the whole run");
  v("outcome", x.outcome, "");
  v("stop_reason", x.stopReason,
    "precision, iterations, max_time, noise_floor; empty: not reached");
  v("steady", x.steady, "the warm-up ended because it was steady");
  v("warmup_messages", x.warmupMessages, "");
  v("warmup_s", x.warmupSeconds, "");
  v("first_message_ns", x.firstMessageNs, "the cold one");
  v("messages", x.messages, "measured; done so far when it failed");
  v("latency", x.latency, "of per-message samples");
  v("rate", x.rate, "of streams");
  v("check", x.check, "");
  v("setup_s", x.setupSeconds, "");
  v("connect_s", x.connectSeconds, "");
  v("measure_s", x.measureSeconds, "");
  v.late("timed_s", x.timedSeconds, "of measure_s, in which messages moved");
  v.late("company", x.company,
         "share of the measured time in which each pair beside moved messages, the least");
  v("initiator", x.initiator, "effective, as this side reports it");
  v("responder", x.responder, "");
  v("samples_file", x.samplesFile, "raw samples: little-endian doubles, nanoseconds; empty: none");
  v("samples", x.samples, "in that file");
  v("samples_digest", x.samplesDigest, "fnv1a-64 of that file, hexadecimal");
  v("notes", x.notes, "");
  v.late("observations", x.observations, "of the path, in the initiator's terms");
}

template <class V>
void describe(V& v, Control& x) {
  v("name", x.name, "");
  v("truth", x.truth, "direct or staged, known beforehand");
  v.late("memory", x.memory, "as of rows: those that it counts for; empty: all");
  v("outcome", x.outcome, "");
  v("observations", x.observations, "");
}

template <class V>
void describe(V& v, Level& x) {
  v("value", x.value, "");
  v("interval", x.interval, "over runs and blocks; null with fewer than two runs");
}

template <class V>
void describe(V& v, RatioToBase& x) {
  v("base", x.base, "label");
  v("level", x.level, "this over base: of p50 latency, or of rate");
}

template <class V>
void describe(V& v, Headline& x) {
  v("p50_ns", x.p50Ns, "of whole samples (round trips): half of it is the latency; see 'sample'");
  v("p90_ns", x.p90Ns, "median over the runs");
  v("p99_ns", x.p99Ns, "median over the runs");
  v("p999_ns", x.p999Ns, "median over the runs");
  v("min_ns", x.minNs, "of all runs");
  v("max_ns", x.maxNs, "of all runs");
  v("bandwidth_Bps", x.bytesPerSecond, "");
  v("messages_per_s", x.messagesPerSecond, "");
  v("ratio", x.ratio, "");
  v.late("to_alone", x.toAlone,
         "beside other pairs, over the same pair alone: p50 latency or rate");
  v("harness_share", x.harnessShare, "what the null transport takes, over what this row takes");
}

template <class V>
void describe(V& v, Row& x) {
  v("id", x.id, "unique in the document");
  v("label", x.label, "");
  v("transport", x.transport, "");
  v("operation", x.operation, "");
  v("path", x.path, "direct, staged or library-staged");
  v("drive", x.drive, "host or stream");
  v("memory", x.memory, "");
  v("pattern", x.pattern, "");
  v("size_bytes", x.bytes, "");
  v("direction", x.direction, "uni or bi; empty where there is none");
  v("window", x.window, "effective");
  v("batch", x.batch, "effective");
  v.late("pairs_beside", x.beside, "pairs of memory that were measured at the same time");
  v("sample", x.sample, "round trip, full operation or block");
  v("requested", x.requested, "");
  v("effective", x.effective, "");
  v("outcome", x.outcome, "");
  v("check", x.check, "all runs together");
  v("runs", x.runs, "");
  v.late("witness", x.witness, "a run with the witnesses that may disturb");
  v.late("path_verdict", x.verdict, "what the observations come to");
  v("headline", x.headline, "");
  v("marks", x.marks, "");
}

template <class V>
void describe(V& v, Overhead& x) {
  v("clock", x.clock, "");
  v("clock_read_ns", x.clockReadNs, "");
  v("clock_granularity_ns", x.clockGranularityNs, "");
  v("clock_note", x.clockNote, "");
  v("null_ping_pong", x.nullPingPong, "");
  v("null_stream_ns", x.nullStreamNs, "per message");
}

template <class V>
void describe(V& v, Document& x) {
  v("version", x.version, "");
  v("build", x.build, "");
  v("name", x.name, "");
  v("started", x.started, "UTC");
  v("finished", x.finished, "UTC; empty while running");
  v("status", x.status, "complete, interrupted or aborted");
  v("base", x.base, "label that ratios refer to");
  v("plan_digest", x.planDigest, "");
  v("config", x.config, "effective configuration, YAML that runs again");
  v("environment", x.environment, "");
  v("overhead", x.overhead, "");
  v.late("controls", x.controls, "short runs whose path is known beforehand");
  v("rows", x.rows, "");
  v("notes", x.notes, "");
}

}  // namespace gdrbench::report
