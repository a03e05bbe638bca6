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
#include "harness/run/session_group.h"
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
  if (c.beside != 0) row.beside = c.beside;
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
    total_ = static_cast<std::size_t>(rounds) * runnable_ + request_.plan.controls.size();
    for (const CaseGroup& group : request_.plan.witnessed) total_ += group.size();
    for (int round = 0; round < rounds && !result_.interrupted; ++round) {
      measureOverhead();
      for (const std::size_t group : orderOfRound(request_.plan.groups.size(), round)) {
        if (result_.interrupted) break;
        runGroup(request_.plan.groups[group], round);
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

  void runGroup(const CaseGroup& group, int round) {
    std::vector<Case> cases;
    for (const std::size_t index : group) cases.push_back(request_.plan.cases[index]);
    std::vector<SessionResult> sessions = runTogether(cases, round);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Case& c = cases[i];
      report::Run& run = sessions[i].run;
      if (!sessions[i].samplesNs.empty()) {
        keep(journal_.writeSamples(c.id, run, sessions[i].samplesNs));
      }
      keep(journal_.addRun(c.id, run));
      report::Row& row = result_.document.rows[group[i]];
      if (run.outcome.kind == report::OutcomeKind::kOk) row.effective = effectiveFacts(run);
      row.runs.push_back(std::move(run));
    }
  }

  /// All at the same time; each is a run of its own.
  std::vector<SessionResult> runTogether(const std::vector<Case>& cases, int round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      request_.progress.starting(done_ + i, total_, round, cases[i].id, secondsLeft());
    }
    std::vector<SessionResult> sessions = sessionsOf(cases);
    tellCompany(sessions);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      report::Run& run = sessions[i].run;
      run.round = round;
      run.position = static_cast<int>(done_++);
      request_.progress.finished(run, cases[i].id);
    }
    return sessions;
  }

  std::vector<SessionResult> sessionsOf(const std::vector<Case>& cases) {
    std::vector<SessionRequest> requests;
    for (const Case& c : cases) {
      const std::string whose = cases.size() > 1 ? " of " + c.id : std::string();
      requests.push_back({.registry = request_.registry,
                          .testCase = c,
                          .clock = clock_,
                          .program = request_.program,
                          .namePrefix = fmt::format("{}{}-", prefix_, ++sessions_),
                          .seed = seeds_(),
                          .onPhase = [this, whose](Role role, std::string_view phase) {
                            request_.progress.phase(std::string(name(role)) + whose, phase);
                          }});
    }
    const double started = secondsSince(start_);
    std::vector<SessionResult> sessions = runSessions(requests);
    for (SessionResult& each : sessions) {
      each.run.startedSeconds = started;
      if (each.interrupted) result_.interrupted = true;
    }
    return sessions;
  }

  static void tellCompany(std::vector<SessionResult>& sessions) {
    if (sessions.size() < 2) return;
    std::vector<Companion> group;
    for (const SessionResult& each : sessions) {
      group.push_back({each.measured.value_or(TimeSpan{}), each.run.timedSeconds.value_or(0)});
    }
    const std::vector<double> shares = companyOf(group);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (sessions[i].measured) sessions[i].run.company = shares[i];
    }
  }

  /// Short runs whose path is known, before any witness is believed.
  void runControls() {
    for (const ControlCase& control : request_.plan.controls) {
      if (result_.interrupted) return;
      SessionResult session = std::move(runTogether({control.testCase}, afterRounds()).front());
      if (session.run.outcome.kind != report::OutcomeKind::kOk) {
        result_.document.notes.push_back(fmt::format("a control did not run ({}): {}", control.what,
                                                     session.run.outcome.reason));
      }
      report::Control seen{.name = control.what,
                           .truth = control.staged ? "staged" : "direct",
                           .memory = memoryText(control.testCase),
                           .outcome = std::move(session.run.outcome),
                           .observations = std::move(session.run.observations)};
      keep(journal_.addControl(seen));
      result_.document.controls.push_back(std::move(seen));
    }
  }

  void runWitnessPasses() {
    for (const CaseGroup& group : request_.plan.witnessed) {
      if (result_.interrupted) return;
      std::vector<Case> passes;
      for (const std::size_t index : group)
        passes.push_back(witnessPass(request_.plan.cases[index]));
      std::vector<SessionResult> sessions = runTogether(passes, afterRounds());
      for (std::size_t i = 0; i < group.size(); ++i) {
        keep(journal_.addWitness(passes[i].id, sessions[i].run));
        result_.document.rows[group[i]].witness = std::move(sessions[i].run);
      }
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
      const report::Run run = sessionsOf({overheadCase(*reference, pattern.name)}).front().run;
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
    c.stop = {.precision = 0.01, .minTimeNs = 50'000'000, .maxTimeNs = 100'000'000};
    c.timeoutNs = 20'000'000'000;
    c.initiatorCpu = like.initiatorCpu;
    c.responderCpu = like.responderCpu;
    return c;
  }

  /// Controls and witness passes come after the rounds.
  [[nodiscard]] int afterRounds() const { return request_.plan.rounds; }

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
