// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/harness/config/test_catalogue.h"

using namespace gdrbench;
using namespace gdrbench::config;
using namespace gdrbench::config::test;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string path = (fs::temp_directory_path() / "gdrbench-config-XXXXXX").string();
    REQUIRE(mkdtemp(path.data()) != nullptr);
    root_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

 private:
  fs::path root_;
};

std::string loadError(const std::string& path) {
  const Result<RunConfig> config = load(catalogue(), path, {});
  REQUIRE(!config.ok());
  CHECK(config.error().code == ErrorCode::kConfig);
  return config.error().what();
}

RunConfig loadedFile(const std::string& path) {
  Result<RunConfig> config = load(catalogue(), path, {});
  REQUIRE_MESSAGE(config.ok(), (config.ok() ? std::string() : config.error().what()));
  return std::move(*config);
}

}  // namespace

TEST_CASE("the including file completes and replaces what it includes") {
  const Folder folder;
  folder.write("base/defaults.yaml",
               "rounds: 5\nstop: {precision: 2%, max_time: 1s}\npaths: [direct, staged]\n"
               "patterns: [{ping-pong: {sizes: 64}}]\ntransports: [wire, nothing]\n");
  const std::string top = folder.write("top.yaml",
                                       "stop: {max_time: 2s}\ntransports: [nothing]\n"
                                       "include: base/defaults.yaml\npaths: staged\n");
  const RunConfig config = loadedFile(top);
  CHECK(config.run.integer("rounds") == 5);
  CHECK(config.groups.at("stop").number("precision") == doctest::Approx(0.02));
  CHECK(config.groups.at("stop").integer("max_time") == 2'000'000'000);
  CHECK(config.transports.size() == 1);
  CHECK(config.run.list("paths").size() == 1);
  CHECK(config.places.at("rounds").text() == folder.path("base/defaults.yaml") + ":1:1");
  CHECK(config.places.at("stop.max_time").text() == top + ":1:8");
}

TEST_CASE("several files are included in order, each relative to its own folder") {
  const Folder folder;
  folder.write("a/one.yaml", "include: ../b/deep.yaml\nrounds: 1\n");
  folder.write("b/deep.yaml", std::string(kSmallest) + "rounds: 9\nname: deep\n");
  folder.write("two.yaml", "rounds: 2\n");
  CHECK(loadedFile(folder.write("t.yaml", "include: [a/one.yaml, two.yaml]\n"))
            .run.integer("rounds") == 2);
  const RunConfig other = loadedFile(folder.write("u.yaml", "include: [two.yaml, a/one.yaml]\n"));
  CHECK(other.run.integer("rounds") == 1);
  CHECK(other.run.text("name") == "deep");
  // Twice is no cycle.
  loadedFile(folder.write("v.yaml", "include: [a/one.yaml, a/one.yaml]\n"));
}

TEST_CASE("an include that cannot be followed is an error where it stands") {
  const Folder folder;
  fs::create_directory(folder.path("sub"));
  const std::string missing = folder.write("m.yaml", "rounds: 1\ninclude:\n  - gone.yaml\n");
  CHECK(loadError(missing) ==
        missing + ":3:5: cannot include '" + folder.path("gone.yaml") + "': there is no such file");
  CHECK_CONTAINS(loadError(folder.write("d.yaml", "include: sub\n")), "this is a folder");
  CHECK_CONTAINS(loadError(folder.write("z.yaml", "include: /dev/zero\n")),
                 "this is not a regular file");
  CHECK_CONTAINS(loadError(folder.write("n.yaml", "include:\n")), "key 'include' has no value");
  CHECK_CONTAINS(loadError(folder.write("k.yaml", "include: {a: b}\n")),
                 "'include' takes a file name or a list of file names");
  folder.write("empty.yaml", "# nothing\n");
  CHECK_CONTAINS(loadError(folder.write("e.yaml", "include: empty.yaml\n")),
                 folder.path("empty.yaml") + ": is empty");
  CHECK_CONTAINS(loadError(folder.path("absent.yaml")), "absent.yaml: there is no such file");
  CHECK_CONTAINS(loadError(folder.path("sub")), "this is a folder");
}

TEST_CASE("files that include each other are an error with the chain") {
  const Folder folder;
  const std::string a = folder.write("a.yaml", "include: b.yaml\n");
  const std::string b = folder.write("b.yaml", "rounds: 1\ninclude: ./sub/../a.yaml\n");
  fs::create_directory(folder.path("sub"));
  const std::string error = loadError(a);
  CHECK_CONTAINS(error, b + ":2:10: ");
  CHECK_CONTAINS(error, "the files include each other: " + a + " -> " + b + " -> " + a);
  const std::string self = folder.write("self.yaml", "include: self.yaml\n");
  CHECK_CONTAINS(loadError(self), self + ":1:10: ");
}

TEST_CASE("the number of included files is bounded") {
  const Folder folder;
  for (int i = 0; i < 10; ++i) {
    const std::string next = "f" + std::to_string(i + 1) + ".yaml";
    folder.write("f" + std::to_string(i) + ".yaml", "include: [" + next + ", " + next + "]\n");
  }
  folder.write("f10.yaml", std::string(kSmallest));
  CHECK_CONTAINS(loadError(folder.path("f0.yaml")), "more than 64 files");
}

TEST_CASE("an error in an included file has that file's place") {
  const Folder folder;
  const std::string base = folder.write("base.yaml", "stop:\n  itertions: 5\n");
  CHECK(loadError(folder.write("top.yaml", "include: base.yaml\n" + std::string(kSmallest))) ==
        base + ":2:3: unknown key 'itertions' in 'stop'; did you mean 'iterations'?");
}
