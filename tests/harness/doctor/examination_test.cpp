// SPDX-License-Identifier: Apache-2.0
// An examination as JSON and as text, and two machines side by side.
#include <fstream>

#include "harness/doctor/ask_library.h"
#include "tests/harness/doctor/fake_machine.h"

using namespace gdrbench;
using namespace gdrbench::test;
using doctor::Difference;
using doctor::differences;
using doctor::examinationFromJson;

namespace {

Examination small() {
  Examination all{.program = "0.1", .host = "a"};
  all.facts = {{"kernel", "6.18.0"}, {"nvidia module", "580 open"}, {"mlx5_0 MTU", "9000"}};
  all.checks = {{.id = "gpu.mig",
                 .group = doctor::kGpuGroup,
                 .subject = "gpu 0",
                 .level = Level::kWarn,
                 .effect = doctor::Effect::kSlows,
                 .finding = "f",
                 .remedy = "r",
                 .documented = "d"}};
  all.conclusions = {{.kind = doctor::Kind::kGpuToNic,
                      .subject = "gpu 0 - mlx5_0",
                      .verdict = Verdict::kSlow,
                      .why = "w",
                      .decidedBy = {"gpu.mig"}}};
  return all;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string linesOf(const std::vector<Difference>& all) {
  std::string lines;
  for (const Difference& each : all) {
    lines += each.key + ": " + each.here + " | " + each.there + "\n";
  }
  return lines;
}

std::string complaint(const std::string& text) {
  const auto read = examinationFromJson(text, "peer.json");
  return read ? "none" : read.error().what();
}

}  // namespace

TEST_CASE("JSON reads back to the same") {
  const FakeMachine machine;
  for (const Examination& all : {small(), examined(machine.inputs())}) {
    const auto again = examinationFromJson(doctor::toJson(all), "own");
    REQUIRE(again);
    CHECK(*again == all);
  }
}

TEST_CASE("text that is no examination is refused with its place") {
  const std::string good = doctor::toJson(small());
  CHECK(complaint(good) == "none");
  CHECK(contains(complaint(""), "peer.json"));
  CHECK(contains(complaint("[1]"), "the document is no object"));
  CHECK(contains(complaint("{}"), "schema is missing"));
  CHECK(contains(complaint(replaced(good, "gdrbench-doctor", "other")),
                 "schema is not gdrbench-doctor"));
  CHECK(contains(complaint(replaced(good, "\"schema_version\": 1", "\"schema_version\": 2")),
                 "schema_version is 2, and this gdrbench reads 1"));
  CHECK(contains(complaint(replaced(good, "\"schema_version\": 1", "\"schema_version\": 1e99")),
                 "schema_version is no number that fits"));
  CHECK(contains(complaint(replaced(good, "\"warn\"", "\"fine\"")),
                 "checks[0].level is no known word: 'fine'"));
  CHECK(contains(complaint(replaced(good, "\"warn\"", "7")), "checks[0].level is no text"));
  CHECK(contains(complaint(replaced(good, "\"finding\"", "\"found\"")),
                 "checks[0].finding is missing"));
  CHECK(contains(complaint(replaced(good, "\"9000\"", "9000")), "facts[2].value is no text"));
  CHECK(contains(complaint(replaced(good, "\"possible, slow\"", "null")),
                 "conclusions[0].verdict is no text"));
  CHECK(contains(complaint(replaced(good, "\"gpu.mig\"\n      ]", "[]\n      ]")),
                 "conclusions[0].decided_by[0] is no text"));
  for (std::size_t size = 0; size + 1 < good.size(); size += 7) {
    CHECK(complaint(good.substr(0, size)) != "none");
  }
}

TEST_CASE("files: missing, a folder, a device, too long") {
  const FakeTree tree;
  const fs::path folder = tree.roots().sys.parent_path();
  CHECK(contains(doctor::readExamination(folder / "none").error().what(), "none"));
  CHECK(contains(doctor::readExamination(folder).error().what(), "no regular file"));
  CHECK(contains(doctor::readExamination("/dev/zero").error().what(), "no regular file"));
  tree.write("peer.json", doctor::toJson(small()));
  const auto good = doctor::readExamination(folder / "peer.json");
  REQUIRE(good);
  CHECK(*good == small());
  tree.write("long.json", std::string(doctor::kMostPeerBytes + 1, ' '));
  CHECK(
      contains(doctor::readExamination(folder / "long.json").error().what(), "longer than 8 MiB"));
}

TEST_CASE("differences: other values, and what only one side has") {
  const Examination here = small();
  Examination there = small();
  CHECK(differences(here, there).empty());
  there.host = "b";  // two machines have two names
  CHECK(differences(here, there).empty());
  there.facts = {{"kernel", "6.1.0"}, {"nvidia module", "580 open"}, {"mlx5_1 MTU", "1500"}};
  CHECK(differences(here, there) == std::vector<Difference>{{"kernel", "6.18.0", "6.1.0"},
                                                            {"mlx5_0 MTU", "9000", "-"},
                                                            {"mlx5_1 MTU", "-", "1500"}});
  const std::string text = show(differences(here, there), there, 100);
  CHECK(contains(text, "against b"));
  CHECK(contains(text, "6.18.0 | there: 6.1.0"));
}

TEST_CASE("two machines that differ in a link, a module and a GID table") {
  const FakeMachine here;
  FakeMachine there;
  there.tree.link("0003:1a:02.0", "32.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16);
  there.tree.write("proc/modules", "nvidia_peermem 1 0 - Live 0x0");
  fs::remove_all(there.tree.sys() / "class/infiniband/mlx5_2/ports/1/gids");
  Inputs one = here.inputs();
  Inputs other = there.inputs();
  one.governor = other.governor = "performance";  // else: not readable below two different folders
  const auto all = differences(examined(one), examined(other));
  CHECK(linesOf(all) ==
        "peer memory modules: none | nvidia_peermem\n"
        "mlx5_0 link: x16 of Gen5 x16 | x8 of Gen5 x16\n"
        "mlx5_2 port 1 GIDs: IB/RoCE v1 1, RoCE v2 1 | none\n");
}

TEST_CASE("text: groups, what to do and where to read, and nothing that moves a terminal") {
  Examination all = small();
  all.checks[0].finding = "bad \x1b[31m finding";
  const std::string text = show(all, 80);
  CHECK(contains(text, "GPUs\n  warn    gpu 0 mig  bad  [31m finding\n"));
  CHECK(contains(text, "do: r\n"));
  CHECK(contains(text, "see: d\n"));
  CHECK(contains(text, "direct path\n  gpu 0 - mlx5_0: possible, slow: w [gpu.mig]\n"));
  CHECK_FALSE(contains(text, "\x1b"));
}

TEST_CASE("every check that is not well says what to read") {
  FakeMachine machine;
  machine.setAcs(0x1C);
  const Examination all = examined(machine.inputs());
  for (const Check& each : all.checks) {
    CAPTURE(each.id);
    CHECK_FALSE(each.documented.empty());
    CHECK_FALSE(each.finding.empty());
    if (each.level == Level::kUnknown) CHECK(each.finding.starts_with("unknown ("));
  }
}

TEST_CASE("a library that crashes its process costs its line and no more") {
  const auto good = doctor::askLibrary("some", [] {
    return doctor::Library{.name = "libsome", .version = std::string("1"), .usable = {"a"}};
  });
  CHECK(good.user == "some");
  CHECK(good.version == Known<std::string>("1"));
  CHECK(good.usable == std::vector<std::string>{"a"});
  const auto bad = doctor::askLibrary("some", []() -> Result<doctor::Library> { std::abort(); });
  CHECK_FALSE(bad.version);
  CHECK(contains(bad.version.why, "signal"));
}
