// SPDX-License-Identifier: Apache-2.0
// Large inputs: a configuration of 10,000 cases must be read and planned in under 1 s, a result of
// 100,000 rows read and printed in under 5 s.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "harness/report/journal.h"
#include "harness/report/report.h"
#include "harness/run/options.h"
#include "harness/run/plan.h"
#include "harness/run/summarise.h"

using namespace gdrbench;

namespace {

class Timer {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double planTenThousand(std::size_t& cases) {
  const Registry registry = builtinTransports();
  std::string text = "transports: [tcp, loopback]\npatterns:\n  - ping-pong: {sizes: [";
  for (int i = 1; i <= 5000; ++i) text += fmt::format("{}{}", i == 1 ? "" : ", ", i);
  text += "]}\n";
  const Timer timer;
  const auto config = config::loadText(catalogue(registry), text, "large.yaml", {});
  if (!config) {
    fmt::print(stderr, "{}\n", config.error().what());
    return 1e9;
  }
  const auto plan = makePlan(*config, registry);
  if (!plan) {
    fmt::print(stderr, "{}\n", plan.error().what());
    return 1e9;
  }
  cases = plan->cases.size();
  return timer.seconds();
}

report::Row rowOf(int i) {
  report::Row row;
  row.label = i % 2 == 0 ? "tcp" : "other";
  row.transport = "tcp";
  row.operation = "send";
  row.path = "direct";
  row.drive = "host";
  row.memory = "host";
  row.pattern = "ping-pong";
  row.bytes = static_cast<std::uint64_t>(i / 2 + 1);
  row.id = fmt::format("{}/{}", row.label, row.bytes);
  row.sample = "round trip";
  report::Run run;
  run.stopReason = "precision";
  run.steady = true;
  run.messages = 1000;
  run.latency = LatencySummary{.n = 1000, .min = 900, .p50 = 1000.0 + i, .mean = 1000, .max = 2000};
  run.latency->blockMedians.assign(20, 1000.0 + i);
  run.check = {"all", 2000, 128000, 2000};
  row.runs.push_back(run);
  return row;
}

double reportHundredThousand(std::size_t& bytes) {
  report::Document document;
  document.version = document.build = "bench";
  document.name = "large";
  document.started = document.finished = "2026-01-01T00:00:00Z";
  document.base = "tcp";
  document.overhead.clock = "tsc";
  for (int i = 0; i < 100'000; ++i) document.rows.push_back(rowOf(i));
  summarise(document);
  const std::string folder = fmt::format("/tmp/gdrbench-scale-{}", getpid());
  auto journal = report::Journal::open(folder, document);
  if (!journal || !journal->finish(document)) return 1e9;

  const Timer timer;
  const auto read = report::readDocument(folder + "/results.json");
  if (read) bytes = report::render(*read, report::Format::kTable, {}).size();
  const double seconds = read ? timer.seconds() : 1e9;
  if (!read) fmt::print(stderr, "{}\n", read.error().what());
  std::filesystem::remove_all(folder);
  return seconds;
}

}  // namespace

int main() {
  std::size_t cases = 0;
  const double planning = planTenThousand(cases);
  fmt::print("{} cases read and planned in {:.2f} s (bar 1 s)\n", cases, planning);
  std::size_t bytes = 0;
  const double reporting = reportHundredThousand(bytes);
  fmt::print("100,000 rows read and printed ({} bytes) in {:.2f} s (bar 5 s)\n", bytes, reporting);
  return planning < 1 && reporting < 5 ? 0 : 1;
}
