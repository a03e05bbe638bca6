// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpu_count.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

using namespace gdrbench;
namespace fs = std::filesystem;

TEST_CASE("GPUs are counted in /proc, and fewer where fewer are visible") {
  const fs::path proc = fs::temp_directory_path() / ("gpus-" + std::to_string(getpid()));
  for (const char* address : {"0000:00:06.0", "0000:00:07.0", "0000:00:08.0"}) {
    fs::create_directories(proc / address);
  }
  CHECK(visibleGpus(proc, {}) == 3);
  CHECK(visibleGpus(proc, "0") == 1);
  CHECK(visibleGpus(proc, "2,0") == 2);
  CHECK(visibleGpus(proc, "0,1,2,3,4") == 3);
  CHECK(visibleGpus(proc, "0,-1,1") == 1);
  CHECK(visibleGpus(proc, "-1") == 0);
  CHECK(visibleGpus(proc, "") == 0);
  fs::remove_all(proc);
  CHECK(visibleGpus(proc, {}) == 0);
}
