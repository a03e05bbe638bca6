// SPDX-License-Identifier: Apache-2.0
#include "harness/report/journal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "harness/core/json.h"
#include "harness/report/report.h"
#include "tests/harness/report/sample_document.h"

using namespace gdrbench;
using namespace gdrbench::report;
namespace fs = std::filesystem;

namespace {

std::string jsonOf(const Document& document) {
  return writeJson(toJson(document));
}

Journal opened(const std::string& folder, const Document& header) {
  auto journal = Journal::open(folder, header);
  REQUIRE_MESSAGE(journal, journal.error().what());
  return *std::move(journal);
}

/// Writes rows and runs, as a conductor does, up to and without `rows`.
void writeRows(Journal& journal, const Document& document, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    const Row& row = document.rows[i];
    REQUIRE(journal.addRow(row));
    for (const Run& run : row.runs) REQUIRE(journal.addRun(row.id, run));
  }
}

bool contains(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

/// Files may not grow beyond `bytes` while this lives; what the disk says when it is full, without
/// a disk that is.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace

TEST_CASE("a finished run leaves the document, the journal and the reports") {
  const TemporaryFolder folder;
  const std::string out = folder / "a/b/c";
  Document document = sampleDocument();
  Journal journal = opened(out, document);
  CHECK(journal.folder() == out);
  writeRows(journal, document, document.rows.size());
  REQUIRE(journal.finish(document));

  const auto back = readDocument(out + "/results.json");
  REQUIRE_MESSAGE(back, back.error().what());
  CHECK(jsonOf(*back) == jsonOf(document));
  CHECK(fileText(out + "/results.csv") == render(document, Format::kCsv, {}) + "\n");
  CHECK(fileText(out + "/report.md") == render(document, Format::kMarkdown, {}) + "\n");
  CHECK(fileText(out + "/config.yaml") == document.config);
  for (const auto& entry : fs::directory_iterator(out)) {
    CHECK(entry.path().extension() != ".new");
  }
}

TEST_CASE("a folder stands for the results that it holds") {
  const TemporaryFolder folder;
  const Document document = sampleDocument();
  Journal journal = opened(folder / "r", document);
  writeRows(journal, document, 2);
  auto unfinished = readDocument(folder / "r");
  REQUIRE_MESSAGE(unfinished, unfinished.error().what());
  CHECK(unfinished->status == "aborted");
  REQUIRE(journal.finish(document));
  auto finished = readDocument(folder / "r");
  REQUIRE(finished);
  CHECK(finished->status == "complete");
}

TEST_CASE("the journal of a run that did not end has every finished run") {
  const TemporaryFolder folder;
  Document document = sampleDocument();
  Journal journal = opened(folder / "r", document);
  writeRows(journal, document, 2);

  const auto back = readDocument(folder / "r/results.jsonl");
  REQUIRE_MESSAGE(back, back.error().what());
  CHECK(back->status == "aborted");
  CHECK(back->name == "sample");
  CHECK(back->environment == document.environment);
  REQUIRE(back->rows.size() == 2);
  REQUIRE(back->rows[1].runs.size() == 3);
  CHECK(writeJson(toJson(back->rows[1].runs[2])) == writeJson(toJson(document.rows[1].runs[2])));
  CHECK(back->rows[0].effective == document.rows[0].effective);
}

TEST_CASE("a last line that was cut short is left out, with a note") {
  const TemporaryFolder folder;
  Document document = sampleDocument();
  Journal journal = opened(folder / "r", document);
  writeRows(journal, document, 1);
  const std::string path = folder / "r/results.jsonl";
  const std::string whole = fileText(path);
  // Wherever the last line is cut, the two runs before it are there.
  for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, std::size_t{300}}) {
    writeText(path, whole.substr(0, whole.size() - cut));
    const auto back = readDocument(path);
    REQUIRE_MESSAGE(back, back.error().what());
    REQUIRE(back->rows.size() == 1);
    CHECK(back->rows[0].runs.size() == 2);
    bool noted = false;
    for (const std::string& note : back->notes) {
      noted = noted || note == "the last line (5) was cut short and is left out";
    }
    CHECK(noted);
  }
}

TEST_CASE("a spoilt line costs that line and is noted") {
  const TemporaryFolder folder;
  Document document = sampleDocument();
  Journal journal = opened(folder / "r", document);
  writeRows(journal, document, 1);
  const std::string path = folder / "r/results.jsonl";
  writeText(path, fileText(path) + "{\"run\":{\"row\":\"tcp/ping-p\n" +
                      "{\"run\":{\"row\":\"nobody\",\"result\":{}}}\n{\"color\":1}\n");
  const auto back = readDocument(path);
  REQUIRE_MESSAGE(back, back.error().what());
  CHECK(back->rows[0].runs.size() == 3);
  std::string notes;
  for (const std::string& note : back->notes) notes += note + "\n";
  CHECK(contains(notes, "line 6 is left out"));
  CHECK(contains(notes, "has a run of an unknown row"));
  CHECK(contains(notes, "unknown kind 'color'"));
}

TEST_CASE("what is no result is an error that names the file") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    writeText(folder / "x", text);
    const auto document = readDocument(folder / "x");
    CHECK_FALSE(document);
    return document ? "" : document.error().what();
  };
  CHECK(contains(refused(""), folder / "x"));
  CHECK(contains(refused("{}"), folder / "x"));
  CHECK(contains(refused("not JSON"), "line 1"));
  CHECK(contains(refused("{\"document\":{}}\n"), "schema_version"));
  CHECK(contains(refused("{\"document\":"), folder / "x"));
  const auto missing = readDocument(folder / "missing");
  REQUIRE_FALSE(missing);
  CHECK(contains(missing.error().what(), "missing: No such file or directory"));
}

TEST_CASE("nothing that is there is overwritten") {
  for (const std::string name :
       {"results.json", "results.jsonl", "results.csv", "report.md", "config.yaml"}) {
    const TemporaryFolder folder;
    writeText(folder / name, "mine");
    const auto journal = Journal::open(folder.path(), sampleDocument());
    REQUIRE_FALSE(journal);
    CHECK(contains(journal.error().what(), "already holds " + name));
    CHECK(contains(journal.error().what(), "--out"));
    CHECK(fileText(folder / name) == "mine");
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
  }
}

TEST_CASE("a folder that cannot be made is an error with the path and what to do") {
  const TemporaryFolder folder;
  writeText(folder / "file", "");
  const auto journal = Journal::open(folder / "file/results", sampleDocument());
  REQUIRE_FALSE(journal);
  CHECK(contains(journal.error().what(), folder / "file/results"));
  CHECK(contains(journal.error().what(), "--out"));
  const auto itself = Journal::open(folder / "file", sampleDocument());
  REQUIRE_FALSE(itself);
  const auto system = Journal::open("/proc/gdrbench/results", sampleDocument());
  CHECK_FALSE(system);
}

TEST_CASE("a folder that may not be written to is an error") {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec |
                                     fs::perms::others_read | fs::perms::others_exec);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Nothing is read-only for root: be somebody else.
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    const auto journal = Journal::open(folder.path(), sampleDocument());
    const bool good = !journal && journal.error().code == ErrorCode::kPermission &&
                      contains(journal.error().what(), "--out");
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  fs::permissions(folder.path(), fs::perms::owner_all);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("when the disk is full, finished runs stay readable and the next one starts a new line") {
  const TemporaryFolder folder;
  Document document = sampleDocument();
  Journal journal = opened(folder / "r", document);
  writeRows(journal, document, 1);
  const std::string path = folder / "r/results.jsonl";
  const auto before = fs::file_size(path);
  Run large = document.rows[0].runs[0];
  large.notes = {std::string(5000, 'x')};
  {
    const SmallFiles limit(before + 100);
    const Status full = journal.addRun(document.rows[0].id, large);
    REQUIRE_FALSE(full);
    CHECK(contains(full.error().what(), path));
    CHECK(contains(full.error().what(), "make room"));
    CHECK_FALSE(journal.finish(document));
  }
  CHECK(fs::file_size(path) == before);
  CHECK_FALSE(fs::exists(folder / "r/results.json"));
  CHECK_FALSE(fs::exists(folder / "r/results.json.new"));
  REQUIRE(journal.addRun(document.rows[0].id, large));
  const auto back = readDocument(path);
  REQUIRE_MESSAGE(back, back.error().what());
  CHECK(back->rows[0].runs.size() == 4);
  REQUIRE(journal.finish(document));
}

TEST_CASE("a really full disk says so") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // A small file system that only this process sees. Answers: 0 good, 1 bad, 2 not possible here.
    const std::string me = fmt::format("0 {} 1", geteuid());
    const std::string mine = fmt::format("0 {} 1", getegid());
    const bool apart = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    writeText("/proc/self/uid_map", me);
    writeText("/proc/self/setgroups", "deny");
    writeText("/proc/self/gid_map", mine);
    const bool mounted = apart && geteuid() == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("none", "/tmp", "tmpfs", 0, "size=64k") == 0;
    if (!mounted) _exit(2);
    auto journal = Journal::open("/tmp/full", sampleDocument());
    Run run;
    run.notes = {std::string(100'000, 'x')};
    const Status full = journal ? journal->addRun("row", run) : Status(Done{});
    const bool good = !full && full.error().nativeCode == ENOSPC && !full.error().next.empty();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) {
    MESSAGE("[SKIPPED] no file system may be mounted here");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("raw samples are little-endian doubles with a digest, and rows never share a file") {
  const TemporaryFolder folder;
  Journal journal = opened(folder / "r", sampleDocument());
  Run run;
  run.round = 2;
  const std::vector<double> samples{1.5, -0.0, 12345.678};
  REQUIRE(journal.writeSamples("tcp/Ping-Pong/64B", run, samples));
  CHECK(run.samplesFile == "samples/tcp-ping-pong-64b-r2.f64");
  CHECK(run.samples == 3);
  const std::string bytes = fileText(folder / ("r/" + run.samplesFile));
  REQUIRE(bytes.size() == 24);
  CHECK(bytes.substr(0, 8) == std::string("\0\0\0\0\0\0\xf8\x3f", 8));
  CHECK(static_cast<unsigned char>(bytes[15]) == 0x80);
  CHECK(run.samplesDigest.size() == 16);

  Run other;
  other.round = 2;
  REQUIRE(journal.writeSamples("tcp:ping-pong:64B", other, {}));
  CHECK(other.samplesFile == "samples/tcp-ping-pong-64b-r2-2.f64");
  CHECK(other.samplesDigest == "cbf29ce484222325");  // of nothing, by the definition of FNV-1a
  CHECK(fileText(folder / ("r/" + run.samplesFile)) == bytes);

  Run longName;
  REQUIRE(journal.writeSamples(std::string(1000, 'a'), longName, samples));
  CHECK(fs::exists(folder / ("r/" + longName.samplesFile)));
}

TEST_CASE("a journal can be moved and then writes on") {
  const TemporaryFolder folder;
  const Document document = sampleDocument();
  Journal first = opened(folder / "r", document);
  Journal second(std::move(first));
  REQUIRE(second.addRow(document.rows[0]));
  const auto back = readDocument(folder / "r");
  REQUIRE(back);
  CHECK(back->rows.size() == 1);
}
