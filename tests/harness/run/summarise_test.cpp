// SPDX-License-Identifier: Apache-2.0
#include "harness/run/summarise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace gdrbench;
using namespace gdrbench::report;

namespace {

Run latencyRun(double p50, int round = 0) {
  Run run;
  run.round = round;
  run.steady = true;
  run.warmupMessages = 1000;
  run.stopReason = "precision";
  run.messages = 5000;
  run.check = {"all", 100, 6400, 100};
  run.latency = LatencySummary{.n = 5000, .min = p50 - 100, .p50 = p50, .max = p50 * 10};
  run.latency->p90 = p50 * 1.1;
  run.latency->p99 = p50 * 2;
  run.latency->p999 = p50 * 3;
  run.latency->p50Interval = Interval{p50 - 5, p50 + 5, 0.95};
  for (int i = -3; i <= 3; ++i) run.latency->blockMedians.push_back(p50 + i);
  return run;
}

Run rateRun(double bytesPerSecond) {
  Run run = latencyRun(0);
  run.latency.reset();
  run.rate = RateSummary{.messages = 100,
                         .bytes = 6400,
                         .seconds = 1,
                         .bytesPerSecond = bytesPerSecond,
                         .messagesPerSecond = bytesPerSecond / 64,
                         .p50Block = bytesPerSecond * 1.25};
  // One long stall: the median of the blocks lies above all bytes over all time.
  run.rate->blockRates = {bytesPerSecond * 1.25, bytesPerSecond * 1.25, bytesPerSecond * 0.25};
  run.rate->p50Interval = Interval{bytesPerSecond, bytesPerSecond * 1.5, 0.95};
  return run;
}

Row rowOf(const std::string& label, std::vector<Run> runs) {
  Row row;
  row.id = label;
  row.label = label;
  row.path = "direct";
  row.drive = "host";
  row.memory = "host";
  row.pattern = "ping-pong";
  row.bytes = 64;
  row.sample = "round trip";
  row.runs = std::move(runs);
  for (std::size_t i = 0; i < row.runs.size(); ++i) row.runs[i].round = static_cast<int>(i);
  return row;
}

Document documentOf(std::vector<Row> rows) {
  Document document;
  document.base = "base";
  document.overhead.clockGranularityNs = 10;
  document.overhead.nullPingPong = LatencySummary{.n = 5000, .p50 = 80, .p999 = 200};
  document.overhead.nullStreamNs = 5;
  document.rows = std::move(rows);
  return document;
}

Row summarised(Row row) {
  Document document = documentOf({std::move(row)});
  summarise(document);
  return document.rows.front();
}

bool marked(const Row& row, const std::string& mark) {
  return std::find(row.marks.begin(), row.marks.end(), mark) != row.marks.end();
}

void fail(Run& run, ErrorCode code, const std::string& side) {
  run.outcome.kind = OutcomeKind::kFailed;
  run.outcome.reason = side + ": it broke";
  run.outcome.errors = {{side, "measure", {.code = code, .tried = "go on"}}};
}

}  // namespace

TEST_CASE("a headline is the median over the runs of what each run has") {
  const Row row = summarised(rowOf("a", {latencyRun(1000), latencyRun(1300), latencyRun(1100)}));
  const Headline& head = row.headline;
  CHECK(row.outcome.kind == OutcomeKind::kOk);
  REQUIRE(head.p50Ns);
  CHECK(head.p50Ns->value == 1100);
  REQUIRE(head.p50Ns->interval);
  CHECK(head.p50Ns->interval->low <= 1100);
  CHECK(head.p50Ns->interval->high >= 1100);
  CHECK(head.p90Ns == doctest::Approx(1210));
  CHECK(head.p99Ns == 2200);
  CHECK(head.p999Ns == 3300);
  CHECK(head.minNs == 900);
  CHECK(head.maxNs == 13000);
  CHECK(head.harnessShare == doctest::Approx(80.0 / 1100));
  CHECK(row.check.messages == 300);
  CHECK(row.check.bytes == 19200);
  CHECK(row.marks.empty());
}

TEST_CASE("a percentile that one run lacks is absent from the row") {
  Run few = latencyRun(1000);
  few.latency->p999.reset();
  const Row row = summarised(rowOf("a", {latencyRun(1000), few}));
  CHECK(row.headline.p99Ns.has_value());
  CHECK_FALSE(row.headline.p999Ns.has_value());
}

TEST_CASE("one run has the interval of its own blocks, and few blocks still give a level") {
  CHECK(summarised(rowOf("a", {latencyRun(1000)})).headline.p50Ns->interval ==
        Interval{995, 1005, 0.95});
  Run small = latencyRun(1000);
  small.latency->blockMedians.clear();
  small.latency->p50Interval.reset();
  const Row row = summarised(rowOf("a", {small}));
  CHECK(row.headline.p50Ns->value == 1000);
  CHECK_FALSE(row.headline.p50Ns->interval.has_value());
}

TEST_CASE("a rate is all bytes over all time, and its interval holds it") {
  Row stream = rowOf("a", {rateRun(1000), rateRun(1200), rateRun(1100)});
  stream.sample = "block";
  const Row row = summarised(stream);
  REQUIRE(row.headline.bytesPerSecond);
  CHECK(row.headline.bytesPerSecond->value == doctest::Approx(1100));
  REQUIRE(row.headline.bytesPerSecond->interval);
  CHECK(row.headline.bytesPerSecond->interval->low <= 1100);
  CHECK(row.headline.bytesPerSecond->interval->high >= 1099.999);
  CHECK(row.headline.messagesPerSecond == doctest::Approx(1100.0 / 64));
  CHECK(row.headline.harnessShare == doctest::Approx(5e-9 * 1100 / 64));
  CHECK_FALSE(row.headline.p50Ns.has_value());

  Row single = rowOf("a", {rateRun(1000)});
  single.sample = "block";
  const auto interval = summarised(single).headline.bytesPerSecond->interval;
  REQUIRE(interval);
  CHECK(interval->low == doctest::Approx(800));
  CHECK(interval->high == doctest::Approx(1200));
}

TEST_CASE("one failed run fails the row, and it takes no part in any figure") {
  Run broken = latencyRun(10);
  fail(broken, ErrorCode::kData, "responder");
  Document document = documentOf({rowOf("base", {latencyRun(1000), latencyRun(1000)}),
                                  rowOf("a", {latencyRun(500), broken, latencyRun(500)})});
  document.rows[1].headline.p50Ns = Level{1, {}};
  document.rows[1].marks = {"drift"};
  summarise(document);
  const Row& row = document.rows[1];
  CHECK(row.outcome.kind == OutcomeKind::kFailed);
  CHECK(row.outcome.reason == "round 2: responder: it broke");
  REQUIRE(row.outcome.errors.size() == 1);
  CHECK(row.outcome.errors[0].error.code == ErrorCode::kData);
  CHECK_FALSE(row.headline.p50Ns.has_value());
  CHECK_FALSE(row.headline.ratio.has_value());
  CHECK(row.marks.empty());
}

TEST_CASE("a failed base leaves the others without a ratio") {
  Run broken = latencyRun(10);
  fail(broken, ErrorCode::kTransport, "initiator");
  Document document = documentOf({rowOf("base", {broken}), rowOf("a", {latencyRun(500)})});
  summarise(document);
  CHECK(document.rows[1].outcome.kind == OutcomeKind::kOk);
  CHECK_FALSE(document.rows[1].headline.ratio.has_value());
}

TEST_CASE("a skipped run skips the row, a failed one weighs more") {
  Run skipped = latencyRun(1000);
  skipped.latency.reset();
  skipped.outcome = {OutcomeKind::kSkipped, "not here", {}};
  CHECK(summarised(rowOf("a", {latencyRun(1000), skipped})).outcome.kind == OutcomeKind::kSkipped);
  Run broken = latencyRun(1000);
  fail(broken, ErrorCode::kTimeout, "initiator");
  CHECK(summarised(rowOf("a", {skipped, broken})).outcome.kind == OutcomeKind::kFailed);
  Row planned = rowOf("a", {});
  planned.outcome = {OutcomeKind::kSkipped, "no such memory", {}};
  const Row after = summarised(planned);
  CHECK(after.outcome.kind == OutcomeKind::kSkipped);
  CHECK(after.outcome.reason == "no such memory");
}

TEST_CASE("a row that did not run is a failure, unless the whole run was stopped") {
  CHECK(summarised(rowOf("a", {})).outcome.kind == OutcomeKind::kFailed);
  Document document = documentOf({rowOf("a", {})});
  document.status = "interrupted";
  summarise(document);
  CHECK(document.rows[0].outcome.kind == OutcomeKind::kSkipped);
  CHECK(document.rows[0].outcome.reason == "did not run: interrupted");
}

TEST_CASE("a round that the user interrupted does not spoil the rounds before it") {
  Run stopped = latencyRun(10);
  stopped.latency.reset();
  fail(stopped, ErrorCode::kCancelled, "conductor");
  const Row row = summarised(rowOf("a", {latencyRun(1000), latencyRun(1000), stopped}));
  CHECK(row.outcome.kind == OutcomeKind::kOk);
  CHECK(row.headline.p50Ns->value == 1000);
  CHECK(marked(row, "rounds_missing"));
  const Row only = summarised(rowOf("a", {stopped}));
  CHECK(only.outcome.kind == OutcomeKind::kSkipped);
  CHECK(only.outcome.reason == "interrupted by the user");
  // Cancelled by the other side's fault is a failure.
  Run cancelled = stopped;
  fail(cancelled, ErrorCode::kCancelled, "initiator");
  CHECK(summarised(rowOf("a", {cancelled})).outcome.kind == OutcomeKind::kFailed);
}

TEST_CASE("a run that ended well and measured nothing is a failure") {
  Run nothing = latencyRun(1000);
  nothing.latency.reset();
  CHECK(summarised(rowOf("a", {nothing})).outcome.kind == OutcomeKind::kFailed);
  // One run with latencies and one with rates cannot be one row.
  CHECK(summarised(rowOf("a", {latencyRun(1000), rateRun(1000)})).outcome.kind ==
        OutcomeKind::kFailed);
}

TEST_CASE(
    "ratios pair rows of one pattern, size, direction, window, batch, memory, path and drive") {
  const auto pairedAfter = [](void (*change)(Row&)) {
    Row row = rowOf("a", {latencyRun(1500), latencyRun(1500)});
    change(row);
    Document document = documentOf({rowOf("base", {latencyRun(1000), latencyRun(1000)}), row});
    summarise(document);
    CHECK_FALSE(document.rows[0].headline.ratio.has_value());
    return document.rows[1].headline.ratio;
  };
  const auto ratio = pairedAfter([](Row&) {});
  REQUIRE(ratio);
  CHECK(ratio->base == "base");
  CHECK(ratio->level.value == doctest::Approx(1.5));
  REQUIRE(ratio->level.interval);
  CHECK(ratio->level.interval->low <= 1.5);
  CHECK(ratio->level.interval->high >= 1.5);
  CHECK_FALSE(pairedAfter([](Row& row) { row.pattern = "other"; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.bytes = 65; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.direction = "bi"; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.window = 2; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.batch = 2; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.memory = "cuda:0"; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.path = "staged"; }));
  CHECK_FALSE(pairedAfter([](Row& row) { row.drive = "stream"; }));
}

TEST_CASE("half of a round trip is compared with the whole of a pull") {
  Row pull = rowOf("a", {latencyRun(2e6), latencyRun(2e6)});
  pull.sample = "full operation";
  // One millisecond each way: round trip 2 ms, latency 1 ms, a read 2 ms.
  Document document = documentOf({rowOf("base", {latencyRun(2e6), latencyRun(2e6)}), pull});
  summarise(document);
  CHECK(document.rows[1].headline.ratio->level.value == doctest::Approx(2));
}

TEST_CASE("a row beside others is compared with the same row alone, and bases with their like") {
  const auto make = [](const std::string& label, double p50, bool beside) {
    Row row = rowOf(label, {latencyRun(p50), latencyRun(p50)});
    if (beside) {
      row.beside = 3;
      row.id += "/disjoint";
    }
    return row;
  };
  Document document = documentOf({make("base", 1000, false), make("other", 3000, false),
                                  make("base", 2000, true), make("other", 4000, true)});
  summarise(document);
  const auto& rows = document.rows;
  CHECK_FALSE(rows[0].headline.toAlone);
  CHECK_FALSE(rows[1].headline.toAlone);
  REQUIRE(rows[2].headline.toAlone);
  CHECK(rows[2].headline.toAlone->value == doctest::Approx(2));
  CHECK(rows[3].headline.toAlone->value == doctest::Approx(4.0 / 3));
  CHECK(rows[1].headline.ratio->level.value == doctest::Approx(3));
  CHECK(rows[3].headline.ratio->level.value == doctest::Approx(2));
}

TEST_CASE("beside others, time decides, and too little company is marked") {
  Run run = latencyRun(1000);
  run.stopReason = "max_time";
  CHECK(marked(summarised(rowOf("base", {run})), "imprecise"));
  Row row = rowOf("base", {run});
  row.beside = 1;
  row.runs[0].company = 0.95;
  CHECK_FALSE(marked(summarised(row), "imprecise"));
  CHECK_FALSE(marked(summarised(row), "little_company"));
  row.runs[0].company = 0.5;
  CHECK(marked(summarised(row), "little_company"));
}

TEST_CASE("a ratio to nothing is absent, not infinite") {
  Run zero = latencyRun(0);
  zero.latency->blockMedians = {0, 0};
  Document document = documentOf({rowOf("base", {zero}), rowOf("a", {latencyRun(1000)})});
  summarise(document);
  CHECK_FALSE(document.rows[1].headline.ratio.has_value());
  CHECK_FALSE(document.rows[0].headline.harnessShare.has_value());
}

TEST_CASE("marks say what is doubtful about a row") {
  const auto marks = [](void (*change)(Run&)) {
    Run run = latencyRun(100'000);
    change(run);
    return summarised(rowOf("a", {latencyRun(100'000), run})).marks;
  };
  using Marks = std::vector<std::string>;
  CHECK(marks([](Run&) {}).empty());
  CHECK(marks([](Run& run) { run.steady = false; }) == Marks{"not_steady"});
  CHECK(marks([](Run& run) {
          run.steady = false;
          run.warmupMessages = 0;
        }) == Marks{"no_warmup"});
  CHECK(marks([](Run& run) { run.latency->drift = true; }) == Marks{"drift"});
  CHECK(marks([](Run& run) { run.latency->modes = {{1, 2}}; }) == Marks{"two_modes"});
  CHECK(marks([](Run& run) { run.stopReason = "max_time"; }) == Marks{"imprecise"});
  CHECK(marks([](Run& run) { run.stopReason = "noise_floor"; }) == Marks{"imprecise"});
  CHECK(marks([](Run& run) { run.stopReason = "iterations"; }).empty());
  CHECK(marks([](Run& run) { run.check.messages = 99; }) == Marks{"partly_checked"});
}

TEST_CASE("a witness pass that failed, or measured something else, is marked") {
  Row row = rowOf("a", {latencyRun(1000), latencyRun(1000)});
  row.witness = latencyRun(1050);
  CHECK(summarised(row).marks ==
        summarised(rowOf("a", {latencyRun(1000), latencyRun(1000)})).marks);
  row.witness = latencyRun(1200);
  CHECK(marked(summarised(row), "witness_perturbs"));
  fail(*row.witness, ErrorCode::kCrash, "responder");
  CHECK(marked(summarised(row), "witness_failed"));
  CHECK_FALSE(marked(summarised(row), "witness_perturbs"));
  Row stream = rowOf("a", {rateRun(1e9)});
  stream.witness = rateRun(0.8e9);
  CHECK(marked(summarised(stream), "witness_perturbs"));
}

TEST_CASE("checks that were not made are marked") {
  Run run = latencyRun(100'000);
  run.check = {"sample", 1, 64, 100};
  CHECK(marked(summarised(rowOf("a", {run})), "sampled_check"));
  run.check = {"off", 0, 0, 100};
  CHECK(marked(summarised(rowOf("a", {run})), "unchecked"));
}

TEST_CASE("what the clock or the host limits is marked, except where no data moves") {
  Run quick = latencyRun(90);
  CHECK(marked(summarised(rowOf("a", {quick})), "below_resolution"));
  CHECK_FALSE(marked(summarised(rowOf("a", {latencyRun(110)})), "below_resolution"));
  CHECK(
      marked(summarised(rowOf("a", {latencyRun(130)})), "host_limited"));  // p99.9: 390, null: 200
  CHECK_FALSE(marked(summarised(rowOf("a", {latencyRun(140)})), "host_limited"));
  quick.check = {"none", 0, 0, 0};
  CHECK(summarised(rowOf("a", {quick})).marks.empty());
}

TEST_CASE("summarising again changes nothing, and marks of others stay") {
  Document document = documentOf({rowOf("base", {latencyRun(1000), latencyRun(1010)}),
                                  rowOf("a", {latencyRun(50), latencyRun(51)})});
  document.rows[1].marks = {"above_link_rate"};
  summarise(document);
  const auto before = document.rows[1].marks;
  CHECK(marked(document.rows[1], "above_link_rate"));
  CHECK(marked(document.rows[1], "below_resolution"));
  const Interval interval = *document.rows[1].headline.ratio->level.interval;
  summarise(document);
  CHECK(document.rows[1].marks == before);
  CHECK(document.rows[1].headline.ratio->level.interval == interval);
}

TEST_CASE("a pair of GPUs that is slower than its like is marked, for as long as it is") {
  std::vector<Row> rows;
  for (const char* memory : {"cuda:0 -> cuda:1", "cuda:1 -> cuda:0", "cuda:0 -> cuda:2",
                             "cuda:2 -> cuda:0", "cuda:1 -> cuda:2", "cuda:2 -> cuda:1"}) {
    rows.push_back(rowOf("copies", {latencyRun(10000)}));
    rows.back().memory = memory;
  }
  rows[2].runs[0] = latencyRun(15000);
  Document document = documentOf(std::move(rows));
  const auto marked = [&](std::size_t row) {
    const auto& marks = document.rows[row].marks;
    return std::count(marks.begin(), marks.end(), "below_class");
  };
  for (int again = 0; again < 2; ++again) {
    summarise(document);
    for (std::size_t i = 0; i < 6; ++i) CHECK(marked(i) == (i == 2 ? 1 : 0));
  }
  document.rows[2].runs[0] = latencyRun(10000);
  summarise(document);
  CHECK(marked(2) == 0);
}
