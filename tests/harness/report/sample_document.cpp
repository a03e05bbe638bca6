// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/report/sample_document.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/report/path_evidence.h"

namespace gdrbench::report {
namespace {

Row rowOf(const std::string& label, const std::string& pattern, std::uint64_t bytes) {
  Row row;
  row.id = fmt::format("{}/{}/{}B", label, pattern, bytes);
  row.label = label;
  row.transport = "tcp";
  row.operation = "send";
  row.path = "direct";
  row.drive = "host";
  row.memory = "host";
  row.pattern = pattern;
  row.bytes = bytes;
  row.sample = pattern == "stream" ? "block" : "round trip";
  row.requested = {{"port", "0 (default)"}};
  row.effective = {{"interface", "lo"}};
  return row;
}

Run runOf(int round) {
  Run run;
  run.round = round;
  run.position = round * 10;
  run.startedSeconds = round * 1.5;
  run.stopReason = "precision";
  run.steady = true;
  run.warmupMessages = 1000;
  run.warmupSeconds = 0.25;
  run.firstMessageNs = 90000;
  run.messages = 5000;
  run.check = {"all", 10000, 640000, 10000};
  run.initiator = {{"cpu", "0"}};
  run.responder = {{"cpu", "1"}};
  return run;
}

void check(Row& row) {
  for (const Run& run : row.runs) {
    row.check.mode = run.check.mode;
    row.check.messages += run.check.messages;
    row.check.bytes += run.check.bytes;
    row.check.sent += run.check.sent;
  }
}

Row latencyRow(const std::string& label, std::uint64_t bytes, double p50, bool percentiles = true) {
  Row row = rowOf(label, "ping-pong", bytes);
  for (int round = 0; round < 3; ++round) {
    Run run = runOf(round);
    LatencySummary latency{.n = percentiles ? 5000u : 200u,
                           .min = p50 * 0.9,
                           .p50 = p50,
                           .mean = p50 * 1.01,
                           .stddev = p50 * 0.1,
                           .mad = p50 * 0.02,
                           .max = p50 * 9};
    latency.p90 = p50 * 1.1;
    if (percentiles) latency.p99 = p50 * 1.5;
    if (percentiles) latency.p999 = p50 * 3;
    latency.p50Interval = Interval{p50 * 0.99, p50 * 1.01, 0.95};
    latency.lag1 = 0.125;
    latency.blockMedians = {p50 * 0.99, p50, p50 * 1.01};
    run.latency = latency;
    row.runs.push_back(run);
  }
  check(row);
  const LatencySummary& one = *row.runs.front().latency;
  row.headline.p50Ns = Level{p50, Interval{p50 * 0.98, p50 * 1.02, 0.95}};
  row.headline.p90Ns = one.p90;
  row.headline.p99Ns = one.p99;
  row.headline.p999Ns = one.p999;
  row.headline.minNs = one.min;
  row.headline.maxNs = one.max;
  row.headline.harnessShare = 80 / p50;
  return row;
}

Row streamRow(const std::string& label, const std::string& direction, double bytesPerSecond) {
  Row row = rowOf(label, "stream", 65536);
  row.id += "/" + direction;
  row.direction = direction;
  row.window = 64;
  row.batch = 16;
  for (int round = 0; round < 3; ++round) {
    Run run = runOf(round);
    RateSummary rate{.messages = 5000,
                     .bytes = 5000 * 65536,
                     .seconds = 5000 * 65536 / bytesPerSecond,
                     .bytesPerSecond = bytesPerSecond,
                     .messagesPerSecond = bytesPerSecond / 65536,
                     .minBlock = bytesPerSecond * 0.9,
                     .p50Block = bytesPerSecond};
    rate.p50Interval = Interval{bytesPerSecond * 0.99, bytesPerSecond * 1.01, 0.95};
    rate.blockRates = {bytesPerSecond * 0.99, bytesPerSecond, bytesPerSecond * 1.01};
    run.rate = rate;
    row.runs.push_back(run);
  }
  check(row);
  row.headline.bytesPerSecond =
      Level{bytesPerSecond, Interval{bytesPerSecond * 0.98, bytesPerSecond * 1.02, 0.95}};
  row.headline.messagesPerSecond = bytesPerSecond / 65536;
  row.headline.harnessShare = 5e-9 * bytesPerSecond / 65536;
  return row;
}

/// Its headline is a trap: the fastest of all, and of a row that failed.
Row failedRow() {
  Row row = latencyRow("broken", 64, 10);
  row.outcome.kind = OutcomeKind::kFailed;
  row.outcome.reason = "round 2: responder: could not check message 17: byte 3 is wrong";
  row.outcome.errors = {{"responder",
                         "measure",
                         {.code = ErrorCode::kData,
                          .tried = "check message 17 from the initiator",
                          .nativeText = "byte 3 is 0x00, not 0x5a",
                          .next = "run it again with fewer messages outstanding"}},
                        {"initiator",
                         "measure",
                         {.code = ErrorCode::kPeerLost,
                          .tried = "receive a reply",
                          .nativeCode = 104,
                          .nativeText = "Connection reset by peer\n(the library says so)"}}};
  row.runs[1].outcome = row.outcome;
  row.runs[1].latency.reset();
  row.runs[1].messages = 17;
  return row;
}

Row skippedRow(std::uint64_t bytes) {
  Row row = rowOf("gpu", "ping-pong", bytes);
  row.memory = "host";
  row.outcome = {OutcomeKind::kSkipped,
                 "not built: configure with -DGDRBENCH_GPU=ON and a toolkit for it, version 12 or "
                 "newer",
                 {}};
  return row;
}

Row pulledRow() {
  Row row = latencyRow("reader", 64, 15000);
  row.operation = "read";
  row.sample = "full operation";
  row.headline.ratio = RatioToBase{"tcp", Level{1.5, Interval{1.4375, 1.5625, 0.95}}};
  return row;
}

}  // namespace

/// Between two GPUs, judged.
Row provedRow() {
  Row row = latencyRow("pair", 64, 16000);
  row.memory = "cuda:0 -> cuda:1";
  for (Run& run : row.runs) {
    run.observations = {{.id = "a.path",
                         .kind = evidence::WitnessClass::kLibrary,
                         .outcome = evidence::Outcome::kDirect,
                         .strength = evidence::Strength::kDecisive,
                         .observed = "all channels",
                         .privilege = "none"},
                        {.id = "a.link",
                         .kind = evidence::WitnessClass::kCounter,
                         .bearing = evidence::Bearing::kConservation,
                         .outcome = evidence::Outcome::kDirect,
                         .strength = evidence::Strength::kStrong,
                         .path = evidence::PathKind::kNvlink,
                         .observed = "640000 bytes"}};
  }
  row.witness = row.runs.front();
  row.witness->round = 3;
  return row;
}

Document sampleDocument() {
  Document document;
  document.version = "0.1.0";
  document.build = "0.1.0+abc";
  document.name = "sample";
  document.started = "2026-01-02T03:04:05Z";
  document.finished = "2026-01-02T03:05:06Z";
  document.base = "tcp";
  document.planDigest = "0123456789abcdef";
  document.config = "name: sample\ntransports: [tcp]\n";
  document.environment = {
      {"host", "node1"},          {"kernel", "Linux 6.1"},       {"cpu", "A \"CPU\" \\ 3 GHz"},
      {"cpus allowed", "0-1"},    {"cpu governor", "powersave"}, {"memory", "8.0 GiB"},
      {"env NAME", "k\xC3\xA4se"}};
  document.overhead = {
      "tsc", 12.5, 10, "invariant", LatencySummary{.n = 5000, .p50 = 80, .p999 = 140}, 5};
  document.rows.push_back(latencyRow("tcp", 64, 20000));
  document.rows.push_back(latencyRow("shm, | piped", 64, 26200, false));
  document.rows.back().headline.ratio = RatioToBase{"tcp", Level{1.31, Interval{1.28, 1.35, 0.95}}};
  document.rows.back().marks = {"drift", "imprecise"};
  document.rows.push_back(pulledRow());
  document.rows.push_back(failedRow());
  document.rows.push_back(skippedRow(64));
  document.rows.push_back(latencyRow("tcp", 1001, 30000));
  document.rows.push_back(skippedRow(1001));
  document.rows.push_back(streamRow("tcp", "uni", 2e9));
  document.rows.push_back(streamRow("fast", "uni", 12.5e9));
  document.rows.back().headline.ratio = RatioToBase{"tcp", Level{6.25, std::nullopt}};
  document.rows.back().headline.bytesPerSecond->interval.reset();
  document.rows.back().check = {"off", 0, 0, 30000};
  document.rows.back().marks = {"unchecked"};
  document.rows.push_back(streamRow("tcp", "bi", 3.5e6));
  document.rows.push_back(provedRow());
  document.controls = {{.name = "a copy", .truth = "direct"}};
  judgePaths(document);
  document.notes = {"a note with\ttab, <angle> and *stars*"};
  return document;
}

// --- random --------------------------------------------------------------------------------------

namespace {

using Random = std::mt19937_64;

template <class T>
T anyOf(Random& random, std::initializer_list<T> values) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
}

bool coin(Random& random) {
  return random() % 2 == 0;
}

double number(Random& random) {
  if (coin(random)) return std::uniform_real_distribution<>(0, 1e7)(random);
  return anyOf(random, {0.0, 1.0, -1.5, 0.1, 1e-300, 1.7976931348623157e308, 5e-324, 1.0 / 3, 1e21,
                        9007199254740993.0});
}

std::uint64_t count(Random& random) {
  return coin(random) ? random() : random() % 1000;
}

std::string text(Random& random) {
  return anyOf<std::string>(random,
                            {"", "tcp", "a \"quoted\" \\ path", "line\nbreak\ttab", "k\xC3\xA4se",
                             "\xF0\x9F\x98\x80", std::string("nul \0 inside", 12), "\x01\x7f",
                             "a long text that does not fit into any small buffer at all"});
}

template <class Make>
auto maybe(Random& random, Make make) -> std::optional<decltype(make())> {
  if (coin(random)) return {};
  return make();
}

template <class Make>
auto some(Random& random, Make make) -> std::vector<decltype(make())> {
  std::vector<decltype(make())> all(random() % 4);
  for (auto& item : all) item = make();
  return all;
}

Facts facts(Random& random) {
  Facts all;
  const std::size_t many = random() % 4;
  for (std::size_t i = 0; i < many; ++i) {
    all.emplace_back(fmt::format("{} {}", 9 - i, text(random)), text(random));
  }
  return all;
}

Interval interval(Random& random) {
  return {number(random), number(random), number(random)};
}

Level level(Random& random) {
  return {number(random), maybe(random, [&] { return interval(random); })};
}

Outcome outcome(Random& random) {
  const auto view = [&] {
    return SideError{text(random),
                     text(random),
                     {static_cast<ErrorCode>(random() % 17), text(random),
                      static_cast<long>(random()), text(random), text(random)}};
  };
  return {static_cast<OutcomeKind>(random() % 3), text(random), some(random, view)};
}

DataCheck dataCheck(Random& random) {
  return {text(random), count(random), count(random), count(random)};
}

LatencySummary latency(Random& random) {
  const auto any = [&] { return number(random); };
  const auto twice = [&] { return std::array<double, 2>{number(random), number(random)}; };
  return {count(random),
          any(),
          any(),
          any(),
          any(),
          any(),
          any(),
          maybe(random, any),
          maybe(random, any),
          maybe(random, any),
          maybe(random, [&] { return interval(random); }),
          maybe(random, any),
          coin(random),
          maybe(random, twice),
          any(),
          some(random, any)};
}

RateSummary rate(Random& random) {
  const auto any = [&] { return number(random); };
  return {count(random), count(random),
          any(),         any(),
          any(),         any(),
          any(),         maybe(random, [&] { return interval(random); }),
          coin(random),  some(random, any)};
}

Headline headline(Random& random) {
  const auto any = [&] { return number(random); };
  const auto anyLevel = [&] { return level(random); };
  Headline head;
  head.p50Ns = maybe(random, anyLevel);
  head.p90Ns = maybe(random, any);
  head.p99Ns = maybe(random, any);
  head.p999Ns = maybe(random, any);
  head.minNs = maybe(random, any);
  head.maxNs = maybe(random, any);
  head.bytesPerSecond = maybe(random, anyLevel);
  head.messagesPerSecond = maybe(random, any);
  head.ratio = maybe(random, [&] { return RatioToBase{text(random), level(random)}; });
  head.harnessShare = maybe(random, any);
  head.toAlone = maybe(random, anyLevel);
  return head;
}

evidence::Observation randomObservation(Random& random) {
  evidence::Observation seen;
  for (std::string* field : {&seen.id, &seen.observed, &seen.ifDirect, &seen.ifStaged, &seen.reason,
                             &seen.control, &seen.privilege, &seen.artefact}) {
    *field = text(random);
  }
  seen.kind = static_cast<evidence::WitnessClass>(random() % 6);
  seen.bearing = static_cast<evidence::Bearing>(random() % 3);
  seen.way = static_cast<evidence::Way>(random() % 3);
  seen.side = static_cast<evidence::Side>(random() % 3);
  seen.bytes = random();
  seen.outcome = static_cast<evidence::Outcome>(random() % 5);
  seen.strength = static_cast<evidence::Strength>(random() % 3);
  seen.path = static_cast<evidence::PathKind>(random() % 7);
  return seen;
}

Control randomControl(Random& random) {
  return {.name = text(random),
          .truth = anyOf<std::string>(random, {"direct", "staged"}),
          .memory = text(random),
          .observations = some(random, [&] { return randomObservation(random); })};
}

Row randomRow(Random& random, std::size_t index) {
  Row row;
  row.id = fmt::format("{} {}", index, text(random));
  for (std::string* field : {&row.label, &row.transport, &row.operation, &row.path, &row.drive,
                             &row.memory, &row.pattern, &row.direction}) {
    *field = text(random);
  }
  row.bytes = count(random);
  row.window = static_cast<std::uint32_t>(random());
  row.batch = static_cast<std::uint32_t>(random());
  row.sample = anyOf<std::string>(random, {"round trip", "full operation", "block", ""});
  row.requested = facts(random);
  row.effective = facts(random);
  row.outcome = outcome(random);
  row.check = dataCheck(random);
  row.runs = some(random, [&] { return randomRun(random); });
  row.headline = headline(random);
  row.marks = some(random, [&] { return text(random); });
  row.beside = maybe(random, [&] { return static_cast<std::uint32_t>(random()); });
  row.witness = maybe(random, [&] { return randomRun(random); });
  row.verdict = maybe(random, [&] {
    return PathVerdict{text(random), text(random), some(random, [&] { return text(random); })};
  });
  return row;
}

}  // namespace

Run randomRun(Random& random) {
  Run run;
  run.round = static_cast<int>(random());
  run.position = static_cast<int>(random());
  run.startedSeconds = number(random);
  run.outcome = outcome(random);
  run.stopReason = text(random);
  run.steady = coin(random);
  run.warmupMessages = count(random);
  run.warmupSeconds = number(random);
  run.firstMessageNs = maybe(random, [&] { return number(random); });
  run.messages = count(random);
  run.latency = maybe(random, [&] { return latency(random); });
  run.rate = maybe(random, [&] { return rate(random); });
  run.check = dataCheck(random);
  run.setupSeconds = number(random);
  run.connectSeconds = number(random);
  run.measureSeconds = number(random);
  run.timedSeconds = maybe(random, [&] { return number(random); });
  run.company = maybe(random, [&] { return number(random); });
  run.initiator = facts(random);
  run.responder = facts(random);
  run.samplesFile = text(random);
  run.samples = count(random);
  run.samplesDigest = text(random);
  run.notes = some(random, [&] { return text(random); });
  run.observations = some(random, [&] { return randomObservation(random); });
  return run;
}

Document randomDocument(Random& random) {
  Document document;
  for (std::string* field :
       {&document.version, &document.build, &document.name, &document.started, &document.finished,
        &document.base, &document.planDigest, &document.config, &document.overhead.clock,
        &document.overhead.clockNote}) {
    *field = text(random);
  }
  document.status = anyOf<std::string>(random, {"complete", "interrupted", "aborted"});
  document.environment = facts(random);
  document.overhead.clockReadNs = number(random);
  document.overhead.clockGranularityNs = number(random);
  document.overhead.nullPingPong = maybe(random, [&] { return latency(random); });
  document.overhead.nullStreamNs = maybe(random, [&] { return number(random); });
  const std::size_t many = random() % 4;
  for (std::size_t i = 0; i < many; ++i) document.rows.push_back(randomRow(random, i));
  document.controls = some(random, [&] { return randomControl(random); });
  document.notes = some(random, [&] { return text(random); });
  return document;
}

// --- files ---------------------------------------------------------------------------------------

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "gdrbench-report-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string fileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void writeText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace gdrbench::report
