// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpu_count.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

using namespace gdrbench;
namespace fs = std::filesystem;

namespace {

/// A machine of these folders and files, gone with the object.
struct Root {
  explicit Root(std::initializer_list<const char*> entries) {
    for (const char* entry : entries) fs::create_directories(path / entry);
  }
  ~Root() { fs::remove_all(path); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  fs::path path = fs::temp_directory_path() / ("gpus-" + std::to_string(getpid()));
};

}  // namespace

TEST_CASE("GPUs are counted in /proc, and fewer where fewer are visible") {
  const Root root({"proc/driver/nvidia/gpus/0000:00:06.0", "proc/driver/nvidia/gpus/0000:00:07.0",
                   "proc/driver/nvidia/gpus/0000:00:08.0", "dev/nvidia0"});
  CHECK(visibleGpus(root.path, {}) == 3);
  CHECK(visibleGpus(root.path, "0") == 1);
  CHECK(visibleGpus(root.path, "2,0") == 2);
  CHECK(visibleGpus(root.path, "0,1,2,3,4") == 3);
  CHECK(visibleGpus(root.path, "0,-1,1") == 1);
  CHECK(visibleGpus(root.path, "-1") == 0);
  CHECK(visibleGpus(root.path, "") == 0);
}

TEST_CASE("GPUs are counted in /dev where the driver has no folder in /proc") {
  const Root root({"proc/driver", "dev/nvidia0", "dev/nvidia11", "dev/nvidiactl", "dev/nvidia-uvm",
                   "dev/nvidia", "dev/null"});
  CHECK(visibleGpus(root.path, {}) == 2);
  CHECK(visibleGpus(root.path, "0") == 1);
}

TEST_CASE("a machine without the driver has no GPUs") {
  CHECK(visibleGpus(Root({"proc", "dev/null"}).path, {}) == 0);
  CHECK(visibleGpus("/nowhere", {}) == 0);
}
