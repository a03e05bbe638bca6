// SPDX-License-Identifier: Apache-2.0
#include "harness/report/document.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "harness/core/json.h"
#include "harness/report/document_fields.h"
#include "harness/report/report.h"
#include "tests/harness/report/sample_document.h"

using namespace gdrbench;
using namespace gdrbench::report;
namespace json = boost::json;

namespace {

json::value parsed(const std::string& text) {
  auto value = parseJson(text, "test");
  REQUIRE_MESSAGE(value, value.error().what());
  return *std::move(value);
}

/// What documentFromJson says about the sample after `change`.
std::string complaint(const std::function<void(json::object&)>& change) {
  json::value value = toJson(sampleDocument());
  change(value.as_object());
  const auto document = documentFromJson(value);
  return document ? "" : document.error().what();
}

bool says(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

json::object& firstRun(json::object& document) {
  return document["rows"].as_array()[0].as_object()["runs"].as_array()[0].as_object();
}

/// Counts fields, so that a member that is missing in the field list is noticed.
struct Counter {
  std::size_t fields = 0;
  template <class T>
  void operator()(const char*, T&, const char*) {
    ++fields;
  }
  template <class T>
  void late(const char*, T&, const char*) {
    ++fields;
  }
};

template <class T>
std::size_t fieldsOf(T value) {
  Counter counter;
  describe(counter, value);
  return counter.fields;
}

}  // namespace

TEST_CASE("any document comes back from its JSON text exactly") {
  std::mt19937_64 random(20260101);
  for (int i = 0; i < 300; ++i) {
    const std::string text = writeJson(toJson(randomDocument(random)));
    const auto back = documentFromJson(parsed(text));
    REQUIRE_MESSAGE(back, back.error().what());
    REQUIRE(writeJson(toJson(*back)) == text);
  }
}

TEST_CASE("doubles, large integers and optional parts keep their values") {
  Document document = sampleDocument();
  Run& run = document.rows[0].runs[0];
  run.startedSeconds = 0.1 + 0.2;
  run.messages = ~std::uint64_t{0};
  run.latency->modes = {{1.0 / 3, 2.0 / 3}};
  const auto back = documentFromJson(parsed(writeJson(toJson(document))));
  REQUIRE(back);
  const Run& same = back->rows[0].runs[0];
  CHECK(same.startedSeconds == run.startedSeconds);
  CHECK(same.messages == run.messages);
  CHECK(same.latency == run.latency);
  CHECK_FALSE(same.rate.has_value());
  CHECK(back->rows[7].runs[2].rate == document.rows[7].runs[2].rate);
  CHECK(back->environment == document.environment);
  CHECK(back->rows[3].outcome.errors[1].error.nativeCode == 104);
  CHECK(back->rows[3].outcome.errors[0].error.code == ErrorCode::kData);
}

TEST_CASE("every member of the document is in the field list") {
  // A new member does not compile here until it is named; then the count tells that it is missing
  // in document_fields.h.
  [[maybe_unused]] auto [a1, a2, a3] = Interval{};
  CHECK(fieldsOf(Interval{}) == 3);
  [[maybe_unused]] auto [b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16] =
      LatencySummary{};
  CHECK(fieldsOf(LatencySummary{}) == 16);
  [[maybe_unused]] auto [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = RateSummary{};
  CHECK(fieldsOf(RateSummary{}) == 10);
  [[maybe_unused]] auto [d1, d2, d3, d4, d5] = Error{};
  CHECK(fieldsOf(Error{}) == 5);
  [[maybe_unused]] auto [e1, e2, e3] = SideError{};
  CHECK(fieldsOf(SideError{}) == 3);
  [[maybe_unused]] auto [f1, f2, f3] = Outcome{};
  CHECK(fieldsOf(Outcome{}) == 3);
  [[maybe_unused]] auto [g1, g2, g3, g4] = DataCheck{};
  CHECK(fieldsOf(DataCheck{}) == 4);
  [[maybe_unused]] auto [h1, h2, h3, h4, h5, h6, h7, h8, h9, h10, h11, h12, h13, h14, h15, h16, h17,
                         h18, h19, h20, h21, h22, h23, h24, h25] = Run{};
  CHECK(fieldsOf(Run{}) == 25);
  [[maybe_unused]] auto [i1, i2] = Level{};
  CHECK(fieldsOf(Level{}) == 2);
  [[maybe_unused]] auto [j1, j2] = RatioToBase{};
  CHECK(fieldsOf(RatioToBase{}) == 2);
  [[maybe_unused]] auto [k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11] = Headline{};
  CHECK(fieldsOf(Headline{}) == 11);
  [[maybe_unused]] auto [l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15, l16, l17,
                         l18, l19, l20, l21, l22, l23] = Row{};
  CHECK(fieldsOf(Row{}) == 23);
  [[maybe_unused]] auto [m1, m2, m3, m4, m5, m6] = Overhead{};
  CHECK(fieldsOf(Overhead{}) == 6);
  [[maybe_unused]] auto [n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14] = Document{};
  CHECK(fieldsOf(Document{}) == 14);
  [[maybe_unused]] auto [o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12, o13, o14, o15, o16] =
      evidence::Observation{};
  CHECK(fieldsOf(evidence::Observation{}) == 16);
  [[maybe_unused]] auto [p1, p2, p3] = PathVerdict{};
  CHECK(fieldsOf(PathVerdict{}) == 3);
  [[maybe_unused]] auto [q1, q2, q3, q4, q5] = Control{};
  CHECK(fieldsOf(Control{}) == 5);
}

TEST_CASE("absent parts are null with their key present") {
  const json::value value = toJson(sampleDocument());
  const json::object& row = value.at("rows").as_array()[1].as_object();
  CHECK(row.at("headline").at("p99_ns").is_null());
  CHECK(row.at("headline").at("bandwidth_Bps").is_null());
  CHECK(row.at("runs").at(0).at("rate").is_null());
  CHECK(value.at("schema_version").as_int64() == kSchemaVersion);
}

TEST_CASE("errors name the place and the fault") {
  CHECK(says(
      complaint([](json::object& d) { firstRun(d)["latency"].as_object()["p50_ns"] = "fast"; }),
      "rows[0].runs[0].latency.p50_ns is not a number"));
  CHECK(says(complaint([](json::object& d) { firstRun(d).erase("steady"); }),
             "rows[0].runs[0].steady is missing"));
  CHECK(says(complaint([](json::object& d) { firstRun(d)["speed"] = 1; }),
             "rows[0].runs[0].speed is not a known key"));
  CHECK(says(complaint([](json::object& d) { d["color"] = 1; }), "color is not a known key"));
  CHECK(says(complaint([](json::object& d) { d["rows"] = 5; }), "rows is not a list"));
  CHECK(says(complaint([](json::object& d) { d["environment"].as_object()["cpu"] = 5; }),
             "environment.cpu is not a string"));
  CHECK(
      says(complaint([](json::object& d) { firstRun(d)["outcome"].as_object()["kind"] = "great"; }),
           "rows[0].runs[0].outcome.kind is none of ok, skipped, failed"));
  CHECK(says(complaint([](json::object& d) { firstRun(d)["messages"] = -1; }),
             "rows[0].runs[0].messages is not a number of the right kind"));
  CHECK(says(complaint([](json::object& d) { firstRun(d)["round"] = 1.5; }),
             "rows[0].runs[0].round is not a number of the right kind"));
  CHECK(says(complaint([](json::object& d) { firstRun(d)["steady"] = 1; }),
             "rows[0].runs[0].steady is not true or false"));
  CHECK(says(complaint([](json::object& d) {
               auto& rows = d["rows"].as_array();
               rows[1].as_object()["id"] = rows[0].at("id");
             }),
             "rows[1].id 'tcp/ping-pong/64B' is that of an earlier row"));
}

TEST_CASE("a newer schema, or none, is refused before anything else is read") {
  json::value value = toJson(sampleDocument());
  value.as_object()["schema_version"] = kSchemaVersion + 1;
  value.as_object()["something new"] = true;
  const auto newer = documentFromJson(value);
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == ErrorCode::kMismatch);
  CHECK(says(newer.error().what(), "use a newer gdrbench"));
  CHECK_FALSE(documentFromJson(json::object{}));
  CHECK_FALSE(documentFromJson(json::array{}));
  CHECK_FALSE(documentFromJson(nullptr));
}

TEST_CASE("equal keys of facts are numbered, none is lost") {
  Run run;
  run.initiator = {{"cpu", "0"}, {"cpu", "1"}, {"cpu", "2"}};
  const auto back = runFromJson(toJson(run));
  REQUIRE(back);
  CHECK(back->initiator == Facts{{"cpu", "0"}, {"cpu (2)", "1"}, {"cpu (3)", "2"}});
}

TEST_CASE("bytes that are no text cannot make a result unreadable") {
  Document document = sampleDocument();
  document.notes = {"bad \xff\xc0\xaf\xed\xa0\x80 bytes"};
  document.environment.emplace_back("k\xfe", "v\xfe");
  const auto back = documentFromJson(parsed(render(document, Format::kJson, {})));
  REQUIRE_MESSAGE(back, back.error().what());
  CHECK(says(back->notes[0], "bad \xEF\xBF\xBD"));
}

TEST_CASE("the JSON format is one document with one line for each row") {
  const std::string text = render(sampleDocument(), Format::kJson, {});
  CHECK(writeJson(parsed(text)) == writeJson(toJson(sampleDocument())));
  CHECK(std::count(text.begin(), text.end(), '\n') < 40);
  Document empty;
  CHECK(writeJson(parsed(render(empty, Format::kJson, {}))) == writeJson(toJson(empty)));
}

TEST_CASE("the layout of a file does not matter, only its content") {
  const TemporaryFolder folder;
  const auto readBack = [&](const std::string& text) {
    writeText(folder / "x", text);
    const auto document = readDocument(folder / "x");
    REQUIRE_MESSAGE(document, document.error().what());
    return writeJson(toJson(*document));
  };
  std::mt19937_64 random(11);
  for (int i = 0; i < 50; ++i) {
    const Document document = randomDocument(random);
    const std::string same = writeJson(toJson(document));
    const std::string lines = render(document, Format::kJson, {});
    REQUIRE(readBack(lines) == same);
    REQUIRE(readBack(lines + "\n") == same);
    REQUIRE(readBack(writeJsonPretty(toJson(document))) == same);
    REQUIRE(readBack(same) == same);
  }
}

TEST_CASE("a fault in a file written by lines is named with its place") {
  const TemporaryFolder folder;
  const std::string text = render(sampleDocument(), Format::kJson, {});
  const auto after = [&](std::string_view from, std::string_view to, std::size_t nth) {
    std::string changed = text;
    std::size_t place = changed.find(from);
    for (; nth > 0; --nth) place = changed.find(from, place + 1);
    REQUIRE(place != std::string::npos);
    writeText(folder / "x", changed.replace(place, from.size(), to));
    const auto document = readDocument(folder / "x");
    CHECK_FALSE(document);
    return document ? "" : document.error().what();
  };
  CHECK(says(after("\"size_bytes\":64", "\"size_bytes\":-64", 1),
             "rows[1].size_bytes is not a number of the right kind"));
  CHECK(says(after("\"id\":\"gpu/ping-pong/1001B\"", "\"id\":\"gpu/ping-pong/64B\"", 0),
             "rows[6].id 'gpu/ping-pong/64B' is that of an earlier row"));
  CHECK(says(after("\n  ]", ",\n  ]", 0), "line "));
  CHECK(says(after("},\n    {", "}\n    {", 0), "line "));
  CHECK(says(after("\n  \"notes\": ", "\n  \"rows\": [],\n  \"notes\": ", 0),
             "the key 'rows' stands twice"));
}

TEST_CASE("the schema accepts what is written, and refuses what the reader refuses") {
  if (std::system("/usr/bin/python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    MESSAGE("[SKIPPED] /usr/bin/python3 has no module jsonschema");
    return;
  }
  const TemporaryFolder folder;
  writeText(folder / "schema.json", writeJsonPretty(resultsSchema()));
  std::mt19937_64 random(7);
  json::array good{toJson(sampleDocument())};
  for (int i = 0; i < 60; ++i) good.push_back(toJson(randomDocument(random)));
  json::array bad;
  const auto spoil = [&](const std::function<void(json::object&)>& change) {
    json::value value = toJson(sampleDocument());
    change(value.as_object());
    CHECK_FALSE(documentFromJson(value));
    bad.push_back(std::move(value));
  };
  spoil([](json::object& d) { d["color"] = 1; });
  spoil([](json::object& d) { d.erase("notes"); });
  spoil([](json::object& d) { d["schema_version"] = kSchemaVersion + 1; });
  spoil([](json::object& d) { firstRun(d)["messages"] = -1; });
  spoil([](json::object& d) { firstRun(d)["latency"].as_object()["p50_ns"] = nullptr; });
  spoil([](json::object& d) { firstRun(d)["outcome"].as_object()["kind"] = "great"; });
  writeText(folder / "good.json", writeJson(good));
  writeText(folder / "bad.json", writeJson(bad));
  writeText(folder / "check.py",
            "import json, sys, jsonschema\n"
            "def load(name): return json.load(open(name, encoding='utf-8'))\n"
            "schema = load('schema.json')\n"
            "jsonschema.Draft202012Validator.check_schema(schema)\n"
            "valid = jsonschema.Draft202012Validator(schema)\n"
            "for d in load('good.json'): valid.validate(d)\n"
            "sys.exit(any(valid.is_valid(d) for d in load('bad.json')))\n");
  const std::string command = "cd " + folder.path() + " && /usr/bin/python3 -W ignore check.py";
  CHECK(std::system(command.c_str()) == 0);
}
