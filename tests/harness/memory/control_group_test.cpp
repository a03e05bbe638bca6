// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/control_group.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

using namespace gdrbench;
namespace fs = std::filesystem;

namespace {

/// A folder that stands for /sys/fs/cgroup, and goes with the test.
class Mount {
 public:
  Mount() {
    std::string name = (fs::temp_directory_path() / "gdrbench-cgroup-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  [[nodiscard]] std::uint64_t left(std::string_view groups) const {
    return leftInControlGroups(root_.string(), groups);
  }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("without a limit there is no bound") {
  const Mount mount;
  CHECK(mount.left("0::/\n") == kUnlimited);
  mount.write("job/memory.max", "max");
  mount.write("job/memory.current", "1000");
  CHECK(mount.left("0::/job\n") == kUnlimited);
  CHECK(mount.left("") == kUnlimited);
  CHECK(mount.left("nonsense\n::\n0:\n") == kUnlimited);
}

TEST_CASE("version 2: the limit of the own group or of any parent holds") {
  const Mount mount;
  mount.write("slurm/memory.max", "10000");
  mount.write("slurm/memory.current", "4000");
  mount.write("slurm/job/memory.max", "max");
  mount.write("slurm/job/memory.current", "500");
  CHECK(mount.left("0::/slurm/job\n") == 6000);
  mount.write("slurm/job/memory.max", "2000");
  CHECK(mount.left("0::/slurm/job\n") == 1500);
  CHECK(mount.left("0::/slurm\n") == 6000);
  CHECK(mount.left("0::/other\n") == kUnlimited);
}

TEST_CASE("version 2: a container finds its own group at the root") {
  const Mount mount;
  mount.write("memory.max", "5000");
  mount.write("memory.current", "1000");
  CHECK(mount.left("0::/\n") == 4000);
  CHECK(mount.left("0::/docker/abc\n") == 4000);
  CHECK(mount.left("0::/../../elsewhere\n") == 4000);
}

TEST_CASE("version 1: the memory controller's own tree") {
  const Mount mount;
  mount.write("memory/memory.limit_in_bytes", "9223372036854771712");
  mount.write("memory/memory.usage_in_bytes", "4000");
  mount.write("memory/job/memory.limit_in_bytes", "8000");
  mount.write("memory/job/memory.usage_in_bytes", "3000");
  const std::string groups = "11:cpu,cpuacct:/x\n4:memory:/job\n1:name=systemd:/\n0::/\n";
  CHECK(mount.left(groups) == 5000);
  CHECK(mount.left("3:hugetlb,memory:/job\n") == 5000);
  CHECK(mount.left("4:cpu:/job\n") == kUnlimited);
  CHECK(mount.left("4:memory:/other\n") == 9223372036854771712u - 4000);
}

TEST_CASE("cached file pages count as room, and a full group leaves none") {
  const Mount mount;
  mount.write("job/memory.max", "10000");
  mount.write("job/memory.current", "9000");
  mount.write("job/memory.stat", "anon 1000\nfile 8000\ninactive_file 6000\nactive_file 2000");
  CHECK(mount.left("0::/job\n") == 7000);
  mount.write("job/memory.stat", "inactive_file 999999");
  CHECK(mount.left("0::/job\n") == 10000);
  mount.write("job/memory.stat", "inactive_file 0");
  mount.write("job/memory.current", "10000");
  CHECK(mount.left("0::/job\n") == 0);
  mount.write("job/memory.current", "12000");
  CHECK(mount.left("0::/job\n") == 0);

  mount.write("memory/j/memory.limit_in_bytes", "10000");
  mount.write("memory/j/memory.usage_in_bytes", "9000");
  mount.write("memory/j/memory.stat", "inactive_file 1\ntotal_inactive_file 500");
  CHECK(mount.left("4:memory:/j\n") == 1500);
}
