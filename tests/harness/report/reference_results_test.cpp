// SPDX-License-Identifier: Apache-2.0
// The verdicts of every reference result, again from what is stored in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "harness/report/path_evidence.h"
#include "harness/report/report.h"
#include "harness/report/rows.h"

namespace gdrbench::report {
namespace {

std::vector<std::filesystem::path> referenceResults() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(GDR_SOURCE_DIR "/results/reference")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Document documentOf(const std::filesystem::path& file) {
  auto document = readDocument(file.string());
  if (!document) FAIL(document.error().what());
  return *std::move(document);
}

bool observed(const Row& row) {
  const auto seen = [](const Run& run) { return !run.observations.empty(); };
  return std::any_of(row.runs.begin(), row.runs.end(), seen) ||
         (row.witness && !row.witness->observations.empty());
}

bool onGpu(const Row& row) {
  return row.memory.find("cuda") != std::string::npos;
}

}  // namespace

TEST_CASE("there are reference results to judge") {
  CHECK(referenceResults().size() >= 3);
}

TEST_CASE("a reference result is judged again to the verdicts that it holds") {
  for (const auto& file : referenceResults()) {
    CAPTURE(file.filename().string());
    const Document stored = documentOf(file);
    Document again = stored;
    judgePaths(again);
    REQUIRE(again.rows.size() == stored.rows.size());
    for (std::size_t i = 0; i < stored.rows.size(); ++i) {
      const Row& before = stored.rows[i];
      const Row& after = again.rows[i];
      CAPTURE(before.id);
      CHECK(after.verdict.has_value() == isOk(before));
      if (!before.verdict || !after.verdict) continue;
      CHECK(after.verdict->verdict == before.verdict->verdict);
      CHECK(after.verdict->by == before.verdict->by);
      CHECK(after.verdict->reasons == before.verdict->reasons);
      const auto differs = [](const Row& row) {
        return std::count(row.marks.begin(), row.marks.end(), "path_differs");
      };
      CHECK(differs(after) == differs(before));
    }
  }
}

TEST_CASE("where nothing was observed nothing is proved") {
  for (const auto& file : referenceResults()) {
    CAPTURE(file.filename().string());
    Document document = documentOf(file);
    judgePaths(document);
    for (const Row& row : document.rows) {
      if (!row.verdict) continue;
      CAPTURE(row.id);
      CHECK((row.verdict->verdict == "n/a") == !onGpu(row));
      if (onGpu(row) && !observed(row)) CHECK(row.verdict->verdict == "unproved");
      CHECK_FALSE(row.verdict->reasons.empty());
    }
  }
}

TEST_CASE("what two H200 showed of eleven known paths leads to the truth, and to nothing else") {
  struct Path {
    const char* label;
    const char* verdict;
    const char* by;
  };
  const Path truth[] = {
      {"nccl", "direct", "nvlink"},         {"nccl:registered", "direct", "nvlink"},
      {"nccl:stream", "direct", "nvlink"},  {"nccl:graph", "direct", "nvlink"},
      {"nccl-shm", "staged", ""},           {"libfabric:shm", "direct", "nvlink"},
      {"libfabric:tcp/send", "staged", ""}, {"tcp", "staged", ""},
      {"loopback", "staged", ""},           {"cuda_copy", "direct", "nvlink"},
      {"cuda_copy:no-peer", "staged", ""}};
  Document document =
      documentOf(GDR_SOURCE_DIR "/tests/harness/report/recorded/h200_pair_truth.json");
  judgePaths(document);
  for (const Path& path : truth) {
    CAPTURE(path.label);
    int rows = 0;
    for (const Row& row : document.rows) {
      if (row.label != path.label) continue;
      CAPTURE(row.id);
      ++rows;
      REQUIRE(row.verdict.has_value());
      CHECK(row.verdict->verdict == path.verdict);
      CHECK(row.verdict->by == path.by);
    }
    CHECK(rows == 2);
  }
}

TEST_CASE("without its witness pass no recorded row is judged wrongly") {
  Document document =
      documentOf(GDR_SOURCE_DIR "/tests/harness/report/recorded/h200_pair_truth.json");
  const Document whole = document;
  for (Row& row : document.rows) row.witness.reset();
  judgePaths(document);
  for (std::size_t i = 0; i < document.rows.size(); ++i) {
    const auto& alone = document.rows[i].verdict;
    if (!alone) continue;
    CAPTURE(document.rows[i].id);
    const bool less = alone->verdict == "unproved";
    CHECK((less || alone->verdict == whole.rows[i].verdict->verdict));
  }
}

}  // namespace gdrbench::report
