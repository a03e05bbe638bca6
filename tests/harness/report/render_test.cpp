// SPDX-License-Identifier: Apache-2.0
// What people and scripts see.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "harness/core/json.h"
#include "harness/report/display.h"
#include "harness/report/report.h"
#include "harness/report/table.h"
#include "tests/harness/report/golden.h"
#include "tests/harness/report/sample_document.h"

using namespace gdrbench;
using namespace gdrbench::report;

namespace {

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The line of the table that begins with these two cells.
std::string lineWith(const std::string& text, const std::string& size, const std::string& label) {
  for (const std::string& line : linesOf(text)) {
    std::istringstream words(line);
    std::string number, unit, name;
    words >> number >> unit >> name;
    if (number + " " + unit == size && name == label) return line;
  }
  return {};
}

bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

Style plain() {
  Style style;
  style.unicode = false;
  return style;
}

}  // namespace

TEST_CASE("the report in every format is as it was") {
  const Document document = sampleDocument();
  matchesGolden("report.txt", render(document, Format::kTable, {}));
  matchesGolden("report_ascii.txt", render(document, Format::kTable, plain()));
  matchesGolden("report_100_columns.txt", render(document, Format::kTable, {.width = 100}));
  matchesGolden("report_colour.txt", render(document, Format::kTable, {.colour = true}));
  matchesGolden("report.md", render(document, Format::kMarkdown, {}));
  matchesGolden("report.csv", render(document, Format::kCsv, {}));
  matchesGolden("report.json", render(document, Format::kJson, {}));
  matchesGolden("results_schema.json", writeJsonPretty(resultsSchema()));
}

TEST_CASE("latency is half of a round trip, and all of a pull") {
  const std::string text = render(sampleDocument(), Format::kTable, plain());
  const std::string pushed = lineWith(text, "64 B", "tcp");
  CHECK(has(pushed, " 10.000 "));
  CHECK(has(pushed, " 20.000 "));  // the round trip itself
  const std::string pulled = lineWith(text, "64 B", "reader");
  CHECK(has(pulled, "read (full)"));
  CHECK(has(pulled, " 15.000 "));
  CHECK_FALSE(has(pulled, " 7.500 "));
  CHECK(has(text, "(full): the time of the whole operation"));
}

TEST_CASE("one rate is the same in every unit") {
  Document document = sampleDocument();
  document.rows = {document.rows[7]};
  document.rows[0].headline.bytesPerSecond = Level{1073741824.0, {}};
  const std::string line = lineWith(render(document, Format::kTable, plain()), "64 KiB", "tcp");
  CHECK(has(line, " 1.0737 "));
  CHECK(has(line, " 8.5899 "));
  CHECK(has(render(document, Format::kCsv, {}), ",1073741824,"));
}

TEST_CASE("a percentile without enough samples is a dash, and the dash is explained") {
  const std::string text = render(sampleDocument(), Format::kTable, plain());
  std::istringstream words(lineWith(text, "64 B", "shm,"));
  CHECK(std::count(std::istream_iterator<std::string>(words), {}, "-") == 2);
  CHECK(has(text, "p99 needs 368"));
}

TEST_CASE("no figure of a row that failed is shown anywhere") {
  const Document document = sampleDocument();
  const Document without = [&] {
    Document copy = document;
    copy.rows[3].headline = {};
    return copy;
  }();
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv}) {
    CHECK(render(document, format, {}) == render(without, format, {}));
  }
  const std::string text = render(document, Format::kTable, plain());
  CHECK(has(lineWith(text, "64 B", "broken"), "FAILED: round 2: responder"));
}

TEST_CASE("a failure has both sides' views, what to do next, and what had been done") {
  const std::string text = renderFailures(sampleDocument());
  CHECK(has(text, "FAILED broken/ping-pong/64B (1 of 3 rounds)\n"));
  CHECK(has(text,
            "  responder (measure): could not check message 17 from the initiator: byte 3 is 0x00, "
            "not 0x5a; run it again with fewer messages outstanding\n"));
  CHECK(has(text,
            "  initiator (measure): could not receive a reply: Connection reset by peer (the "
            "library says so) (104)\n"));
  CHECK(text.find("responder (measure)") < text.find("initiator (measure)"));
  CHECK(has(text, "  round 2: 17 messages had been measured\n"));
}

TEST_CASE("one cause that skips many rows is told once") {
  const std::string text = renderFailures(sampleDocument());
  CHECK(has(text, "skipped: gpu/ping-pong/64B, gpu/ping-pong/1001B\n  not built: configure with"));
  Document good = sampleDocument();
  std::erase_if(good.rows, [](const Row& row) { return row.outcome.kind != OutcomeKind::kOk; });
  CHECK(renderFailures(good).empty());
}

TEST_CASE("the last line is stable") {
  const Document document = sampleDocument();
  CHECK(summaryLine(document) ==
        "gdrbench: 8 ok, 1 failed, 2 skipped; 240000 messages checked, 1 bad");
  CHECK(summaryLine(Document{}) ==
        "gdrbench: 0 ok, 0 failed, 0 skipped; 0 messages checked, 0 bad");
  for (const Format format : {Format::kTable, Format::kMarkdown}) {
    CHECK(linesOf(render(document, format, {})).back() == summaryLine(document));
  }
}

TEST_CASE("an empty document is a failure that is seen") {
  Document empty;
  for (const Format format : {Format::kTable, Format::kMarkdown}) {
    CHECK(has(render(empty, format, {}), "FAILED: there is no row at all"));
  }
  CHECK(linesOf(render(empty, Format::kCsv, {})).size() == 1);
}

TEST_CASE("lines fit the width as far as columns can be left out, and those are named") {
  const std::string text = render(sampleDocument(), Format::kTable, {.width = 120});
  CHECK(has(text, "(left out to fit 120 columns: "));
  bool inFailures = false;
  for (const std::string& line : linesOf(text)) {
    inFailures = inFailures || line.starts_with("FAILED ");
    CAPTURE(line);
    if (!inFailures) CHECK(displayWidth(line) <= 120);
  }
  const std::string narrow = render(sampleDocument(), Format::kTable, {.width = 1});
  for (const char* always : {"size", "transport", "p50 us", "GB/s", "outcome"}) {
    CHECK(has(narrow, always));
  }
}

TEST_CASE("colour only when asked for") {
  const Document document = sampleDocument();
  CHECK_FALSE(has(render(document, Format::kTable, {}), "\x1b"));
  const std::string coloured = render(document, Format::kTable, {.colour = true});
  CHECK(has(coloured, "\x1b[32mok"));
  CHECK(has(coloured, "\x1b[31mFAILED"));
}

TEST_CASE("text from outside cannot steer a terminal or break a table") {
  Document document = sampleDocument();
  document.name = "evil\x1b[2Jname\nsecond line";
  document.rows[0].label =
      "a\x1b]0;title\x07|b\n\xc2\x9b"
      "31m";
  document.rows[3].outcome.reason = "first\nsecond\x1b[31m";
  document.rows[3].outcome.errors[0].error.nativeText = "```\n\x1b[31m";
  document.notes = {"note\r\n\x1b[2J"};
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv}) {
    const std::string text = render(document, format, {});
    CHECK_FALSE(has(text, "\x1b"));
    CHECK_FALSE(has(text, "\r"));
    CHECK_FALSE(has(text, "\xc2\x9b"));
    CHECK(linesOf(text).size() == linesOf(render(sampleDocument(), format, {})).size());
  }
}

TEST_CASE("rows of one size stand together, whatever document they come from") {
  const Document one = sampleDocument();
  const std::vector<Document> both{one, one};
  const std::string text = render(merge(both), Format::kTable, plain());
  const auto first = text.find("sample: tcp ");
  const auto second = text.find("sample#2: tcp ");
  const auto larger = text.find("1001 B");
  CHECK(first < second);
  CHECK(second < larger);
  CHECK(has(text, "sample | sample#2"));
}

TEST_CASE("drives and memories are never mixed in a table") {
  Document document = sampleDocument();
  document.rows = {document.rows[0], document.rows[0], document.rows[0]};
  document.rows[1].drive = "stream";
  document.rows[2].memory = "cuda:0 -> cuda:1";
  const std::string text = render(document, Format::kMarkdown, {});
  CHECK(has(text, "### ping-pong: latency is half the round trip (host memory)\n"));
  CHECK(has(text, "(host memory, stream drive)\n"));
  CHECK(has(text, "(cuda:0 -> cuda:1)\n"));
}

TEST_CASE("documents side by side: labels, ids, base, environment and notes say whose they are") {
  Document one = sampleDocument();
  Document two = sampleDocument();
  two.name = "other";
  two.status = "aborted";
  two.environment[0].second = "node2";
  two.overhead.nullPingPong->p50 = 95;
  two.finished = "2026-02-01T00:00:00Z";
  const std::vector<Document> documents{one, two};
  const Document both = merge(documents);
  CHECK(both.rows.size() == 22);
  CHECK(both.base == "sample: tcp");
  CHECK(both.rows[0].label == "sample: tcp");
  CHECK(both.rows[11].id == "other: tcp/ping-pong/64B");
  CHECK_FALSE(both.rows[1].headline.ratio.has_value());
  CHECK(both.status == "aborted");
  CHECK(both.finished == "2026-02-01T00:00:00Z");
  CHECK(both.overhead.nullPingPong->p50 == 95);
  const auto fact = [&](const std::string& key) {
    const auto found = std::find_if(both.environment.begin(), both.environment.end(),
                                    [&](const auto& pair) { return pair.first == key; });
    return found == both.environment.end() ? "" : found->second;
  };
  CHECK(fact("sample: host") == "node1");
  CHECK(fact("other: host") == "node2");
  CHECK(fact("kernel") == "Linux 6.1");
  CHECK(documentFromJson(toJson(both)));
  CHECK(merge(std::span(documents).first(1)).rows[0].label == "tcp");
  CHECK(merge({}).rows.empty());
}

TEST_CASE("three documents of one name stay apart") {
  Document one = sampleDocument();
  Document numbered = sampleDocument();
  numbered.name = "sample#2";
  const std::vector<Document> documents{one, numbered, one};
  const Document all = merge(documents);
  CHECK(all.name == "sample | sample#2 | sample#3");
  CHECK(documentFromJson(toJson(all)));
}

TEST_CASE("a format is one of four words") {
  CHECK(*parseFormat("markdown") == Format::kMarkdown);
  CHECK(*parseFormat("csv") == Format::kCsv);
  CHECK(*parseFormat("json") == Format::kJson);
  CHECK(*parseFormat("table") == Format::kTable);
  const auto wrong = parseFormat("markdwon");
  REQUIRE_FALSE(wrong);
  CHECK(has(wrong.error().what(), "did you mean 'markdown'?"));
}

TEST_CASE("CSV is taken by a strict reader: every line has every field, and they come back") {
  if (std::system("/usr/bin/python3 -c pass 2>/dev/null") != 0) {
    MESSAGE("[SKIPPED] there is no /usr/bin/python3");
    return;
  }
  Document document = sampleDocument();
  document.rows[0].label = "comma, \"quote\" and k\xC3\xA4se";
  const TemporaryFolder folder;
  writeText(folder / "r.csv", render(document, Format::kCsv, {}) + "\n");
  writeText(
      folder / "check.py",
      "import csv\n"
      "rows = list(csv.DictReader(open('r.csv', newline='', encoding='utf-8'), strict=True))\n"
      "assert len(rows) == 11, len(rows)\n"
      "assert all(None not in r and None not in r.values() for r in rows)\n"
      "assert rows[0]['label'] == 'comma, \"quote\" and k\\u00e4se', rows[0]['label']\n"
      "assert all(r['schema_version'] == '1' for r in rows)\n"
      "assert float(rows[0]['latency_p50_ns']) == 10000\n"
      "assert float(rows[0]['p50_ns']) == 20000\n"
      "assert float(rows[2]['latency_p50_ns']) == 15000\n"
      "assert rows[1]['p99_ns'] == ''\n"
      "assert rows[3]['outcome'] == 'failed' and rows[3]['p50_ns'] == ''\n"
      "assert float(rows[8]['bandwidth_Bps']) == 12.5e9\n"
      "assert rows[3]['runs'] == '3' and rows[3]['runs_ok'] == '2'\n");
  const std::string command = "cd " + folder.path() + " && /usr/bin/python3 check.py";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("what is not text is made visible, widths are counted in characters") {
  CHECK(oneLine("k\xC3\xA4se \xff") == "k\xC3\xA4se \xEF\xBF\xBD");
  CHECK(oneLine("a\tb\nc\x7f") == "a b c ");
  CHECK(oneLine("a\xC2\x85"
                "b\xC2\xA0") == "a b\xC2\xA0");
  CHECK(displayWidth("k\xC3\xA4se") == 4);
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abc...");
  CHECK(shortened("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 4) == "\xC3\xA4...");
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 0, 2) == "one two three");
  CHECK(wrapped("endlessword x", 4, 2) == "endlessword\n  x");
}
