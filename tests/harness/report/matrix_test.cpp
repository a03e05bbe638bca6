// SPDX-License-Identifier: Apache-2.0
#include "harness/report/matrix.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "harness/report/matrix_tables.h"
#include "harness/report/report.h"
#include "tests/harness/report/golden.h"

using namespace gdrbench;
using namespace gdrbench::report;

namespace {

Row cellOf(const std::string& from, const std::string& to, double gigabytes,
           const std::string& link) {
  Row row;
  row.memory = from + " -> " + to;
  row.label = row.transport = "copies";
  row.operation = "copy";
  row.path = "direct";
  row.drive = "host";
  row.pattern = "stream";
  row.sample = "block";
  row.direction = "uni";
  row.bytes = 64u << 20;
  row.window = 4;
  row.id = "copies/" + row.memory + "/stream";
  row.check = {"all", 100, 100 * row.bytes, 100};
  row.headline.bytesPerSecond = Level{gigabytes * 1e9, {}};
  Run run;
  run.initiator = {{"medium", "copies"}, {"link", link}};
  row.runs.push_back(run);
  return row;
}

/// All pairs of `gpus` GPUs, and pinned memory near each of them.
Document machine(int gpus) {
  Document document;
  document.name = "matrix";
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      document.rows.push_back(
          cellOf(fmt::format("cuda:{}", from), fmt::format("cuda:{}", to), 390, "NV18"));
    }
  }
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string near = fmt::format("pinned:{}", gpu), device = fmt::format("cuda:{}", gpu);
    document.rows.push_back(cellOf(near, device, 55, "NUMA 0"));
    document.rows.push_back(cellOf(device, near, 54, "NUMA 0"));
  }
  return document;
}

Row& cell(Document& document, const std::string& memory) {
  const auto found = std::find_if(document.rows.begin(), document.rows.end(),
                                  [&](const Row& row) { return row.memory == memory; });
  REQUIRE(found != document.rows.end());
  return *found;
}

void fail(Row& row, const std::string& reason) {
  row.outcome = {OutcomeKind::kFailed, reason, {}};
  row.check.messages = 7;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

std::string lineOf(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("a matrix with a slow link and a failed cell is as it was") {
  Document document = machine(3);
  cell(document, "cuda:0 -> cuda:2").headline.bytesPerSecond->value = 201.5e9;
  fail(cell(document, "cuda:1 -> cuda:0"),
       "responder: could not check message 3: byte 17 is 0x00, not 0x5a");
  cell(document, "cuda:2 -> cuda:1").marks = {"drift"};
  markBelowClass(document);
  matchesGolden("matrix.txt", render(document, Format::kTable, {}));
  matchesGolden("matrix.md", render(document, Format::kMarkdown, {}));
}

TEST_CASE("the source is the row, the destination the column") {
  Document document = machine(2);
  cell(document, "cuda:0 -> cuda:1").headline.bytesPerSecond->value = 111e9;
  cell(document, "cuda:1 -> cuda:0").headline.bytesPerSecond->value = 222e9;
  const std::string text = render(document, Format::kMarkdown, {});
  CHECK(has(text, "| from \\\\ to | pinned | cuda:0 | cuda:1 |"));
  CHECK(has(text, "| cuda:0 | 54.00 |  | 111.00 |"));
  CHECK(has(text, "| cuda:1 | 54.00 | 222.00 |  |"));
  CHECK(has(text, "| pinned |  | 55.00 | 55.00 |"));
}

TEST_CASE("directions, sizes, transports and paths have matrices of their own") {
  Document document = machine(2);
  const std::vector<Row> rows = document.rows;
  const auto again = [&](auto change) {
    for (Row row : rows) {
      change(row);
      row.id += std::to_string(document.rows.size());
      document.rows.push_back(row);
    }
  };
  again([](Row& row) { row.direction = "bi"; });
  again([](Row& row) { row.bytes = 4096; });
  again([](Row& row) { row.label = "other"; });
  again([](Row& row) { row.path = "staged"; });
  CHECK(matricesOf(document).size() == 5);
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "both ways at once, the sum in GB/s"));
  CHECK(has(text, "(asked path: staged)"));
}

TEST_CASE("ping-pong shows half of the round trip") {
  Document document = machine(2);
  for (Row& row : document.rows) {
    row.pattern = "ping-pong";
    row.sample = "round trip";
    row.direction.clear();
    row.headline.bytesPerSecond.reset();
    row.headline.p50Ns = Level{12340, {}};
  }
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "half the round trip in us"));
  CHECK(has(lineOf(text, "cuda:0"), "6.17"));
}

TEST_CASE("a slow latency is below its class too") {
  Document document = machine(4);
  for (Row& row : document.rows) {
    row.sample = "round trip";
    row.headline.bytesPerSecond.reset();
    row.headline.p50Ns = Level{row.memory == "cuda:1 -> cuda:3" ? 30000.0 : 12000.0, {}};
  }
  markBelowClass(document);
  for (const Row& row : document.rows) {
    CHECK(row.marks.empty() == (row.memory != "cuda:1 -> cuda:3"));
  }
}

TEST_CASE("one pair, or the same memory on both sides, is no matrix") {
  Document document;
  document.rows.push_back(cellOf("cuda:0", "cuda:1", 390, "NV18"));
  document.rows.push_back(document.rows.front());
  document.rows.back().memory = "cuda:0";
  CHECK(matricesOf(document).empty());
  CHECK(has(render(document, Format::kTable, {}), "(cuda:0 -> cuda:1)"));
}

TEST_CASE("rows of a matrix have no tables of their own, unless a second transport is compared") {
  Document document = machine(2);
  CHECK_FALSE(has(render(document, Format::kTable, {}), "95 % interval"));
  Document compared = document;
  for (Row row : document.rows) {
    row.label = "other";
    row.id = "other/" + row.memory;
    compared.rows.push_back(row);
  }
  const std::string text = render(compared, Format::kTable, {});
  CHECK(has(text, "(cuda:0 -> cuda:1)"));
  CHECK(has(text, "other: stream of 64 MiB"));
}

TEST_CASE("cells without figures are dashes with their cause, and break nothing") {
  Document document = machine(3);
  for (Row& row : document.rows) {
    if (row.memory == "cuda:0 -> cuda:1") {
      fail(row, "initiator exited with signal 9");
      row.runs.clear();
    } else if (row.memory.find("cuda:2") != std::string::npos) {
      row.outcome = {OutcomeKind::kSkipped, "no peer access", {}};
      row.runs.clear();
    }
  }
  markBelowClass(document);
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(lineOf(text, "cuda:0"), " - "));
  CHECK(has(text, "cuda:0 -> cuda:1: FAILED: initiator exited with signal 9\n"));
  CHECK(has(text, "cuda:2 -> pinned: skipped: no peer access"));

  for (Row& row : document.rows) row.outcome = {OutcomeKind::kSkipped, "no GPU", {}};
  markBelowClass(document);
  CHECK(has(render(document, Format::kMarkdown, {}), "skipped: no GPU"));
}

TEST_CASE("many causes do not hide the matrix") {
  Document document = machine(8);
  for (Row& row : document.rows) fail(row, "no peer access for " + row.memory);
  const auto lines = matrixTablesOf(document).front().lines;
  CHECK(lines.size() < 12);
  CHECK(std::any_of(lines.begin(), lines.end(),
                    [](const std::string& line) { return has(line, "more causes"); }));
}

TEST_CASE("a slow GPU is named, its cells are marked, and the marks are made anew") {
  Document document = machine(8);
  for (Row& row : document.rows) {
    const bool between = row.memory.find("pinned") == std::string::npos;
    if (between && row.memory.find("cuda:3") != std::string::npos) {
      row.headline.bytesPerSecond->value /= 2;
    }
  }
  markBelowClass(document);
  markBelowClass(document);
  const auto marked = std::count_if(document.rows.begin(), document.rows.end(), [](const Row& row) {
    return row.marks == std::vector<std::string>{kBelowClass};
  });
  CHECK(marked == 14);
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "GPU cuda:3 is slow in its row and its column: 0.50 of the median"));
  CHECK(has(lineOf(text, "cuda:3"), "!195.00"));
  CHECK(has(text, "below_class: below 0.9"));
  CHECK_FALSE(has(text, "link cuda:"));

  for (Row& row : document.rows) row.headline.bytesPerSecond->value = 100e9;
  markBelowClass(document);
  for (const Row& row : document.rows) CHECK(row.marks.empty());
}

TEST_CASE("links are printed once when all are the same, and as a matrix when they differ") {
  Document document = machine(2);
  for (Row& row : document.rows) row.runs[0].initiator = {{"link", "NV18"}};
  CHECK(has(render(document, Format::kTable, {}), "link of every cell: NV18"));
  cell(document, "cuda:0 -> cuda:1").runs[0].initiator = {{"link", "SYS, NUMA 0 -> 1"}};
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "links of these cells"));
  CHECK(has(text, "SYS, NUMA 0 -> 1"));
}

TEST_CASE("verdicts are told below the matrix, cells that share one together") {
  Document document = machine(2);
  CHECK_FALSE(has(render(document, Format::kTable, {}), "verdict"));
  for (Row& row : document.rows) row.verdict = PathVerdict{"unproved", "", {"no counter"}};
  cell(document, "cuda:0 -> cuda:1").verdict = PathVerdict{"direct", "nvlink", {"all of it"}};
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "verdict direct (nvlink): cuda:0 -> cuda:1"));
  CHECK(has(text, "verdict unproved: cuda:1 -> cuda:0"));
}

TEST_CASE("places are ordered by number, host memory first, far host memory by its name") {
  Document document;
  for (const char* to : {"cuda:10", "cuda:2", "cuda:1"}) {
    document.rows.push_back(cellOf("pinned:0", to, 50, ""));
  }
  document.rows.push_back(cellOf("pinned:2", "cuda:2", 50, ""));
  const Matrix matrix = matricesOf(document).front();
  CHECK(matrix.places ==
        std::vector<std::string>{"pinned", "pinned:0", "cuda:1", "cuda:2", "cuda:10"});
}

TEST_CASE("disjoint pairs at once have a matrix of their own, with what the others cost") {
  Document document = machine(4);
  const std::vector<Row> alone = document.rows;
  for (Row row : alone) {
    if (row.memory.find("pinned") != std::string::npos) continue;
    row.id += "/disjoint";
    row.beside = 1;
    const bool slow = row.memory == "cuda:0 -> cuda:3";
    row.headline.bytesPerSecond->value *= slow ? 0.5 : 0.97;
    row.headline.toAlone = Level{slow ? 0.5 : 0.97, {}};
    document.rows.push_back(row);
  }
  markBelowClass(document);
  const std::string text = render(document, Format::kTable, {});
  CHECK(has(text, "in rounds of disjoint pairs at the same time"));
  CHECK(has(text,
            "beside 1 other pair: 0.97 of what the same pair does alone, in the middle; least "
            "0.50: cuda:0 -> cuda:3"));
  CHECK(has(text, "link cuda:0 -> cuda:3: 0.52 of the median of its class"));
  CHECK(matricesOf(document).size() == 2);
}
