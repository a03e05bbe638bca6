// SPDX-License-Identifier: Apache-2.0
// Other tests may remove stale leftovers at the same time: what is asserted about those is that
// they are gone, not who removed them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "harness/bootstrap/channel.h"

using namespace gdrbench;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = "/dev/shm";

/// Files in /dev/shm that are removed at the end in any case.
class Files {
 public:
  ~Files() {
    for (const std::string& name : names_) fs::remove(kFolder / name);
  }
  const std::string& add(const std::string& name) {
    std::ofstream(kFolder / name) << "x";
    names_.push_back(name);
    return names_.back();
  }
  void note(const std::string& name) { names_.push_back(name); }

 private:
  std::vector<std::string> names_;
};

bool exists(const std::string& name) {
  return fs::symlink_status(kFolder / name).type() != fs::file_type::not_found;
}

pid_t deadPid() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  REQUIRE(waitpid(pid, nullptr, 0) == pid);
  return pid;
}

}  // namespace

TEST_CASE("the prefix names this process and its start, and stays the same") {
  const std::string prefix = uniqueNamePrefix();
  CHECK(std::regex_match(prefix, std::regex(fmt::format("gdrbench-{}-[1-9][0-9]*-", getpid()))));
  CHECK(uniqueNamePrefix() == prefix);
}

TEST_CASE("leftovers of one prefix are removed and named, and nothing else is") {
  Files files;
  const std::string prefix = uniqueNamePrefix();
  files.add(prefix + "7-b");
  files.add(prefix + "7-a");
  files.add(prefix + "71-a");
  CHECK(removeLeftovers(prefix + "7-") == std::vector{prefix + "7-a", prefix + "7-b"});
  CHECK(exists(prefix + "71-a"));
  CHECK(removeLeftovers(prefix + "7-").empty());
  CHECK(removeLeftovers(prefix) == std::vector{prefix + "71-a"});
}

TEST_CASE("a prefix that could take in the names of others removes nothing") {
  Files files;
  const std::string mine = files.add(uniqueNamePrefix() + "kept");
  for (const std::string prefix : {"", "g", "gdrbench-", "gdrbench-1", "gdrbench-1-2"}) {
    CHECK(removeLeftovers(prefix).empty());
  }
  CHECK(exists(mine));
}

TEST_CASE("what a dead process or an earlier one of the same number left is stale") {
  Files files;
  const std::string dead = files.add(fmt::format("gdrbench-{}-12345-ring", deadPid()));
  const std::string earlier = files.add(fmt::format("gdrbench-{}-1-ring", getpid()));
  const std::string living = files.add(uniqueNamePrefix() + "ring");
  removeStaleLeftovers();
  CHECK_FALSE(exists(dead));
  CHECK_FALSE(exists(earlier));
  CHECK(exists(living));
}

TEST_CASE("names of any other form are left alone") {
  Files files;
  const int dead = deadPid();
  const std::string names[] = {fmt::format("gdrbench-{}-12345-", dead),
                               fmt::format("gdrbench-{}-12345", dead),
                               fmt::format("gdrbench-{}--12345-x", dead),
                               fmt::format("gdrbench--{}-12345-x", dead),
                               fmt::format("gdrbench-0{}-12345-x", dead),
                               fmt::format("gdrbench-{}-012345-x", dead),
                               fmt::format("xgdrbench-{}-12345-x", dead),
                               fmt::format("gdrbench-{}-12x45-x", dead),
                               fmt::format("gdrbench-{}-99999999999999999999999-x", dead),
                               "gdrbench-0-12345-x",
                               fmt::format("gdrbench-{}", dead)};
  for (const std::string& name : names) files.add(name);
  removeStaleLeftovers();
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(exists(name));
  }
}

TEST_CASE("what is no regular file of this user is left alone") {
  Files files;
  const std::string stem = fmt::format("gdrbench-{}-12345-", deadPid());
  fs::create_directory(kFolder / (stem + "folder"));
  files.note(stem + "folder");
  fs::create_symlink("/etc/passwd", kFolder / (stem + "link"));
  files.note(stem + "link");
  const std::string foreign = files.add(stem + "foreign");
  const bool root = geteuid() == 0 && chown((kFolder / foreign).c_str(), 65534, 65534) == 0;
  removeStaleLeftovers();
  CHECK(exists(stem + "folder"));
  CHECK(exists(stem + "link"));
  if (root) CHECK(exists(foreign));
}
