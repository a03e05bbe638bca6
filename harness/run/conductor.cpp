// SPDX-License-Identifier: Apache-2.0
#include "harness/run/conductor.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>

#include "harness/bootstrap/channel.h"
#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/environment/environment.h"
#include "harness/report/journal.h"
#include "harness/report/path_evidence.h"
#include "harness/run/build_info.h"
#include "harness/run/session.h"
#include "harness/run/summarise.h"

namespace gdrbench {
namespace {

using std::chrono::steady_clock;

std::string utcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

double secondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

report::Facts requestedFacts(const Case& c, const TransportEntry& entry) {
  report::Facts facts;
  for (const Option& option : entry.options) {
    if (!c.options.has(option.name)) continue;
    std::string text;
    for (const OptionValue& value : c.options.list(option.name)) {
      text += (text.empty() ? "" : ", ") + literal(option, value);
    }
    facts.emplace_back(option.name, c.options.given(option.name) ? text : text + " (default)");
  }
  for (const auto& [key, value] : c.env) facts.emplace_back("env " + key, value);
  if (!c.library.empty()) facts.emplace_back("library", c.library);
  facts.emplace_back("window", std::to_string(c.window));
  facts.emplace_back("batch", std::to_string(c.batch));
  if (c.stop.iterations) facts.emplace_back("iterations", std::to_string(*c.stop.iterations));
  return facts;
}

report::Row rowOf(const Case& c, const Registry& registry) {
  const TransportEntry& entry = *registry.find(c.transport);
  const Capabilities can = capabilitiesOf(c, registry);
  const bool stamps = findPattern(c.pattern)->make()->stampsMessages();
  const BlockPlan blocks = planBlocks(c);
  report::Row row;
  row.id = c.id;
  row.label = c.label;
  row.transport = c.transport;
  row.operation = can.operation;
  row.path = c.path;
  row.drive = name(c.drive);
  row.memory = memoryText(c);
  row.pattern = c.pattern;
  row.bytes = c.bytes;
  row.direction = stamps ? "" : std::string(name(c.direction));
  row.window = blocks.window;
  row.batch = blocks.batch;
  row.sample = !stamps ? "block" : can.flow == DataFlow::kPull ? "full operation" : "round trip";
  row.requested = requestedFacts(c, entry);
  return row;
}

/// What the initiator found, then what the responder reports differently.
report::Facts effectiveFacts(const report::Run& run) {
  report::Facts facts = run.initiator;
  for (const auto& [key, value] : run.responder) {
    const auto same = std::find(run.initiator.begin(), run.initiator.end(), std::pair(key, value));
    if (same == run.initiator.end()) facts.emplace_back("responder " + key, value);
  }
  return facts;
}

class Conductor {
 public:
  Conductor(const ConductRequest& request, report::Journal journal, report::Document document,
            Clock clock)
      : request_(request), journal_(std::move(journal)), clock_(std::move(clock)) {
    result_.document = std::move(document);
  }

  ConductResult run() {
    addRows();
    const int rounds = request_.plan.rounds;
    total_ = static_cast<std::size_t>(rounds) * runnable_ + request_.plan.controls.size() +
             request_.plan.witnessed.size();
    for (int round = 0; round < rounds && !result_.interrupted; ++round) {
      measureOverhead();
      for (const std::size_t index : orderOfRound(request_.plan.cases.size(), round)) {
        if (result_.interrupted) break;
        runCase(index, round);
      }
    }
    runControls();
    runWitnessPasses();
    finish();
    return std::move(result_);
  }

 private:
  void addRows() {
    for (const Case& c : request_.plan.cases) {
      report::Row row = rowOf(c, request_.registry);
      if (c.skip) {
        row.outcome = {report::OutcomeKind::kSkipped, *c.skip, {}};
      } else {
        ++runnable_;
      }
      keep(journal_.addRow(row));
      result_.document.rows.push_back(std::move(row));
    }
  }

  void runCase(std::size_t index, int round) {
    const Case& c = request_.plan.cases[index];
    if (c.skip) return;
    request_.progress.starting(done_, total_, round, c.id, secondsLeft());
    SessionResult session = runOne(c, round);
    session.run.round = round;
    session.run.position = static_cast<int>(done_);
    if (!session.samplesNs.empty()) {
      keep(journal_.writeSamples(c.id, session.run, session.samplesNs));
    }
    keep(journal_.addRun(c.id, session.run));
    request_.progress.finished(session.run, c.id);
    report::Row& row = result_.document.rows[index];
    if (session.run.outcome.kind == report::OutcomeKind::kOk) {
      row.effective = effectiveFacts(session.run);
    }
    row.runs.push_back(std::move(session.run));
    ++done_;
  }

  SessionResult runOne(const Case& c, int) {
    const double started = secondsSince(start_);
    const SessionRequest request{.registry = request_.registry,
                                 .testCase = c,
                                 .clock = clock_,
                                 .program = request_.program,
                                 .namePrefix = fmt::format("{}{}-", prefix_, ++sessions_),
                                 .seed = seeds_(),
                                 .onPhase = [this](Role role, std::string_view phase) {
                                   request_.progress.phase(name(role), phase);
                                 }};
    SessionResult session = runSession(request);
    session.run.startedSeconds = started;
    if (session.interrupted) result_.interrupted = true;
    return session;
  }

  /// Short runs whose path is known, before any witness is believed.
  void runControls() {
    for (const ControlCase& control : request_.plan.controls) {
      if (result_.interrupted) return;
      request_.progress.starting(done_, total_, request_.plan.rounds, control.testCase.id,
                                 secondsLeft());
      SessionResult session = runOne(control.testCase, 0);
      request_.progress.finished(session.run, control.testCase.id);
      if (session.run.outcome.kind != report::OutcomeKind::kOk) {
        result_.document.notes.push_back(fmt::format("a control did not run ({}): {}", control.what,
                                                     session.run.outcome.reason));
      }
      report::Control seen{.name = control.what,
                           .truth = control.staged ? "staged" : "direct",
                           .outcome = std::move(session.run.outcome),
                           .observations = std::move(session.run.observations)};
      keep(journal_.addControl(seen));
      result_.document.controls.push_back(std::move(seen));
      ++done_;
    }
  }

  void runWitnessPasses() {
    for (const std::size_t index : request_.plan.witnessed) {
      if (result_.interrupted) return;
      const Case pass = witnessPass(request_.plan.cases[index]);
      request_.progress.starting(done_, total_, request_.plan.rounds, pass.id, secondsLeft());
      SessionResult session = runOne(pass, 0);
      session.run.round = request_.plan.rounds;
      session.run.position = static_cast<int>(done_);
      keep(journal_.addWitness(pass.id, session.run));
      request_.progress.finished(session.run, pass.id);
      result_.document.rows[index].witness = std::move(session.run);
      ++done_;
    }
  }

  /// The price of the harness in this round: both patterns over the transport that does nothing.
  /// The report keeps the round with the lowest median: what disturbed another round was not the
  /// harness.
  void measureOverhead() {
    const auto entries = request_.registry.entries();
    const auto reference = std::find_if(entries.begin(), entries.end(),
                                        [](const auto& entry) { return entry.overheadReference; });
    if (reference == entries.end() || request_.plan.cases.empty()) return;
    report::Overhead& overhead = result_.document.overhead;
    for (const PatternEntry& pattern : patternEntries()) {
      if (result_.interrupted) return;
      const report::Run run = runOne(overheadCase(*reference, pattern.name), 0).run;
      if (run.outcome.kind != report::OutcomeKind::kOk) {
        result_.document.notes.push_back("overhead was not measured: " + run.outcome.reason);
        continue;
      }
      if (run.latency &&
          (!overhead.nullPingPong || run.latency->p50 < overhead.nullPingPong->p50)) {
        overhead.nullPingPong = run.latency;
      }
      if (run.rate) {
        const double each = 1e9 / run.rate->messagesPerSecond;
        overhead.nullStreamNs = std::min(overhead.nullStreamNs.value_or(each), each);
      }
    }
  }

  [[nodiscard]] Case overheadCase(const TransportEntry& reference, std::string_view pattern) const {
    const Case& like = request_.plan.cases.front();
    Case c;
    c.id = fmt::format("overhead/{}", pattern);
    c.label = std::string(reference.name);
    c.transport = std::string(reference.name);
    c.options = OptionSet::defaults(reference.options);
    c.staging = like.staging;
    c.pattern = std::string(pattern);
    c.bytes = 64;
    c.window = 64;
    c.batch = 16;
    c.warmup = {1000, 10'000'000, 100'000'000};
    c.stop = {.precision = 0.01, .minTimeNs = 50'000'000, .maxTimeNs = 200'000'000};
    c.timeoutNs = 20'000'000'000;
    c.initiatorCpu = like.initiatorCpu;
    c.responderCpu = like.responderCpu;
    return c;
  }

  [[nodiscard]] double secondsLeft() const {
    if (done_ == 0) return -1;
    return secondsSince(start_) / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  }

  /// A result that cannot be stored does not end the run; it ends with status 1.
  void keep(Status stored) {
    if (!stored && !result_.lost) result_.lost = std::move(stored).error();
  }

  void finish() {
    report::Document& document = result_.document;
    document.finished = utcNow();
    document.status = result_.interrupted ? "interrupted" : "complete";
    if (result_.lost) document.notes.push_back("results were lost: " + result_.lost->what());
    summarise(document);
    report::judgePaths(document);
    keep(journal_.finish(document));
  }

  const ConductRequest& request_;
  report::Journal journal_;
  Clock clock_;
  ConductResult result_;
  steady_clock::time_point start_ = steady_clock::now();
  std::string prefix_ = uniqueNamePrefix();
  std::size_t sessions_ = 0, done_ = 0, total_ = 0, runnable_ = 0;
  std::mt19937_64 seeds_{std::random_device{}()};
};

report::Document headerOf(const ConductRequest& request, const Clock& clock) {
  std::vector<std::string_view> prefixes;
  for (const TransportEntry& entry : request.registry.entries()) {
    prefixes.insert(prefixes.end(), entry.environment.begin(), entry.environment.end());
  }
  const ClockCost cost = measureCost(clock);
  report::Document document;
  document.version = version();
  document.build = buildId();
  document.name = request.plan.name;
  document.started = utcNow();
  document.status = "aborted";  // until it has finished
  document.base = request.plan.base;
  document.planDigest = request.plan.digest;
  document.config = request.effectiveYaml;
  document.environment = describeMachine(prefixes);
  document.overhead.clock = clock.kind() == Clock::Kind::kTsc ? "tsc" : "monotonic";
  document.overhead.clockReadNs = cost.readNs;
  document.overhead.clockGranularityNs = cost.granularityNs;
  document.overhead.clockNote = clock.note();
  return document;
}

bool meetsPath(const Expectations& expect, const report::Row& row, std::string& why) {
  if (expect.path.empty()) return true;
  if (row.verdict && row.verdict->verdict == expect.path) return true;
  why += fmt::format("{}: the path is required to be {} and is {}", row.id, expect.path,
                     row.verdict ? row.verdict->verdict : "unknown");
  if (row.verdict && !row.verdict->reasons.empty()) why += ": " + row.verdict->reasons.front();
  why += '\n';
  return false;
}

bool meets(const Expectations& expect, const report::Row& row, std::string& why) {
  const double half = row.sample == "round trip" ? 0.5 : 1;
  const report::Headline& got = row.headline;
  bool good = true;
  const auto tooHigh = [&](const char* what, std::optional<double> value,
                           std::optional<double> most) {
    if (!value || !most || *value * half <= *most) return;
    why += fmt::format("{}: {} is {}, expected at most {}\n", row.id, what,
                       formatDuration(*value * half), formatDuration(*most));
    good = false;
  };
  tooHigh("p50", got.p50Ns ? std::optional(got.p50Ns->value) : std::nullopt, expect.maxP50Ns);
  tooHigh("p99", got.p99Ns, expect.maxP99Ns);
  if (got.bytesPerSecond && expect.minBytesPerSecond &&
      got.bytesPerSecond->value < *expect.minBytesPerSecond) {
    why += fmt::format("{}: {}, expected at least {}\n", row.id,
                       formatByteRate(got.bytesPerSecond->value),
                       formatByteRate(*expect.minBytesPerSecond));
    good = false;
  }
  return good;
}

}  // namespace

Result<ConductResult> conduct(const ConductRequest& request) {
  Clock clock = Clock::calibrate();
  report::Document header = headerOf(request, clock);
  for (const std::string& name : removeStaleLeftovers()) {
    header.notes.push_back("removed what a killed run left in shared memory: " + name);
  }
  auto journal = report::Journal::open(request.folder, header);
  if (!journal) return journal.error();
  return Conductor(request, *std::move(journal), std::move(header), std::move(clock)).run();
}

int exitStatus(const Plan& plan, const ConductResult& result, std::string& why) {
  std::size_t ok = 0, skipped = 0, failed = 0;
  bool met = true;
  for (const report::Row& row : result.document.rows) {
    switch (row.outcome.kind) {
      case report::OutcomeKind::kOk:
        ++ok;
        met = meets(plan.expect, row, why) && met;
        met = meetsPath(plan.expect, row, why) && met;
        break;
      case report::OutcomeKind::kSkipped:
        ++skipped;
        break;
      case report::OutcomeKind::kFailed:
        ++failed;
        break;
    }
  }
  if (result.interrupted) return 130;
  if (failed != 0 || result.lost) return 1;
  if (ok == 0) return 77;
  if (!met) return 3;
  return skipped != 0 ? 4 : 0;
}

}  // namespace gdrbench
