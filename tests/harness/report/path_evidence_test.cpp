// SPDX-License-Identifier: Apache-2.0
// Verdicts from stored rows alone.
#include "harness/report/path_evidence.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "harness/report/report.h"
#include "tests/harness/report/sample_document.h"

namespace gdrbench::report {
namespace {

Row& provedRow(Document& document) {
  return *std::find_if(document.rows.begin(), document.rows.end(),
                       [](const Row& row) { return row.label == "pair"; });
}

PathVerdict judged(const Document& document) {
  Document copy = document;
  judgePaths(copy);
  return *provedRow(copy).verdict;
}

evidence::Observation copies(evidence::Outcome outcome) {
  return {.id = "copies",
          .kind = evidence::WitnessClass::kWork,
          .outcome = outcome,
          .strength = evidence::Strength::kDecisive,
          .observed = "copies were recorded"};
}

Control control(const char* truth, evidence::Outcome outcome) {
  return {.name = std::string("known to be ") + truth,
          .truth = truth,
          .observations = {copies(outcome)}};
}

}  // namespace

TEST_CASE("a stored row is judged again to what was stored") {
  Document again = sampleDocument();
  for (Row& row : again.rows) row.verdict.reset();
  judgePaths(again);
  for (const Row& row : again.rows) {
    CAPTURE(row.id);
    CHECK(row.verdict.has_value() == (row.outcome.kind == OutcomeKind::kOk));
    if (row.memory == "host" && row.verdict) CHECK(row.verdict->verdict == "n/a");
  }
  const Row& row = provedRow(again);
  CHECK(row.verdict->verdict == "direct");
  CHECK(row.verdict->by == "nvlink");
  CHECK(row.verdict->reasons ==
        std::vector<std::string>{"a.path: all channels", "a.link: 640000 bytes"});
  CHECK(verdictText(row) == "direct (nvlink)");
}

TEST_CASE("every round counts, and so does the witness pass") {
  Document document = sampleDocument();
  provedRow(document).runs[1].observations.clear();
  CHECK(judged(document).verdict == "direct");  // the witness pass saw it, and is of every round
  provedRow(document).witness.reset();
  CHECK(judged(document).verdict == "unproved");

  document = sampleDocument();
  provedRow(document).witness->observations = {copies(evidence::Outcome::kStaged)};
  document.controls = {control("direct", evidence::Outcome::kNeutral)};
  CHECK(judged(document).verdict == "conflict");
}

TEST_CASE("a witness that fails its control is dropped, and the rest stands") {
  Document document = sampleDocument();
  provedRow(document).witness->observations = {copies(evidence::Outcome::kStaged)};
  document.controls = {control("direct", evidence::Outcome::kStaged)};
  CHECK(judged(document).verdict == "direct");
  const std::string text = explainPath(provedRow(document), document.controls);
  CHECK(text.find("copies [insensitive") != std::string::npos);
  CHECK(text.find("known to be direct") != std::string::npos);
  // A control that did not run shows nothing.
  document.controls[0].outcome.kind = OutcomeKind::kFailed;
  document.controls[0].outcome.reason = "no such device";
  CHECK(explainPath(provedRow(document), document.controls).find("no such device") !=
        std::string::npos);
}

TEST_CASE("a control counts for rows of its own memory") {
  Document document = sampleDocument();
  provedRow(document).witness->observations = {copies(evidence::Outcome::kStaged)};
  const std::string own = provedRow(document).memory;
  for (const std::string& memory : {std::string(), own, std::string("cuda:6 -> cuda:7")}) {
    CAPTURE(memory);
    document.controls = {control("direct", evidence::Outcome::kStaged),
                         control("direct", evidence::Outcome::kNeutral)};
    document.controls[0].memory = memory;  // it says staged of this one, which is direct
    document.controls[1].memory = own;
    const bool counts = memory.empty() || memory == own;
    CHECK(judged(document).verdict == (counts ? "direct" : "conflict"));
    const std::string text = explainPath(provedRow(document), document.controls);
    CHECK((text.find("copies [insensitive") != std::string::npos) == counts);
    document.controls[0].outcome = {OutcomeKind::kFailed, "no such device", {}};
    const std::string failed = explainPath(provedRow(document), document.controls);
    CHECK((failed.find("no such device") != std::string::npos) == counts);
  }
}

TEST_CASE("unverified data is no proof") {
  for (const char* mode : {"sample", "off", "none"}) {
    CAPTURE(mode);
    Document document = sampleDocument();
    for (Run& run : provedRow(document).runs) run.check.mode = mode;
    CHECK(judged(document).verdict == "unproved");
  }
  Document document = sampleDocument();
  provedRow(document).runs[2].check.messages -= 1;
  CHECK(judged(document).verdict == "unproved");
}

TEST_CASE("two names of one GPU are one GPU") {
  Document document = sampleDocument();
  provedRow(document).witness.reset();
  for (Run& run : provedRow(document).runs) {
    run.observations.pop_back();  // no link can have counted anything
    run.initiator.emplace_back(kGpuFact, "0000:3b:00.0");
    run.responder.emplace_back(kGpuFact, "0000:3b:00.0");
  }
  CHECK(judged(document).verdict == "direct");
  for (Run& run : provedRow(document).runs) run.responder.back().second = "0000:5e:00.0";
  CHECK(judged(document).verdict == "unproved");
}

TEST_CASE("only ways that had payload are judged") {
  Document document = sampleDocument();
  Row& row = provedRow(document);
  row.witness.reset();
  for (Run& run : row.runs) {
    for (evidence::Observation& seen : run.observations) seen.way = evidence::Way::kOut;
  }
  CHECK(judged(document).verdict == "unproved");  // nothing was seen of the way back
  row.sample = "block";
  row.pattern = "stream";
  row.direction = "uni";
  CHECK(judged(document).verdict == "direct");
  row.direction = "bi";
  CHECK(judged(document).verdict == "unproved");
  row.sample = "full operation";
  CHECK(judged(document).verdict == "unproved");  // fetched: the payload is the way back
}

TEST_CASE("a row that the evidence contradicts is marked") {
  Document document = sampleDocument();
  provedRow(document).path = "library-staged";
  judgePaths(document);
  CHECK(provedRow(document).marks == std::vector<std::string>{"path_differs"});
  provedRow(document).path = "direct";
  judgePaths(document);
  CHECK(provedRow(document).marks.empty());
}

TEST_CASE("a row without a good run has nothing to judge") {
  Document document = sampleDocument();
  for (Run& run : provedRow(document).runs) run.outcome.kind = OutcomeKind::kFailed;
  CHECK(explainPath(provedRow(document), {}).find("nothing to judge") != std::string::npos);
}

}  // namespace gdrbench::report
