// SPDX-License-Identifier: Apache-2.0
#include "harness/run/memory_pairs.h"

#include <doctest/doctest.h>

using namespace gdrbench;

namespace {

std::vector<std::string> textOf(const std::vector<MemoryPair>& pairs) {
  std::vector<std::string> text;
  for (const MemoryPair& pair : pairs) {
    text.push_back(pair.source.text() + " -> " + pair.destination.text());
  }
  return text;
}

}  // namespace

TEST_CASE("gpu-pairs: every ordered pair, in reading order") {
  const auto pairs = memoryPairs("gpu-pairs", "gpu-pairs", 3);
  REQUIRE(pairs.ok());
  CHECK(textOf(*pairs) == std::vector<std::string>{"cuda:0 -> cuda:1", "cuda:0 -> cuda:2",
                                                   "cuda:1 -> cuda:0", "cuda:1 -> cuda:2",
                                                   "cuda:2 -> cuda:0", "cuda:2 -> cuda:1"});
  CHECK(memoryPairs("gpu-pairs", "gpu-pairs", 8)->size() == 56);
  for (const MemoryPair& pair : *pairs) CHECK_FALSE(pair.problem);
}

TEST_CASE("host-gpus: from the host to each GPU and back, the host's memory near that GPU") {
  const auto pairs = memoryPairs("host-gpus", "host-gpus", 2);
  REQUIRE(pairs.ok());
  CHECK(textOf(*pairs) == std::vector<std::string>{"pinned:0 -> cuda:0", "cuda:0 -> pinned:0",
                                                   "pinned:1 -> cuda:1", "cuda:1 -> pinned:1"});
}

TEST_CASE("too few GPUs: one pair stands for all, with the reason") {
  CHECK(memoryPairs("gpu-pairs", "gpu-pairs", 0)->front().problem ==
        "gpu-pairs: this machine has no NVIDIA GPU");
  CHECK(memoryPairs("gpu-pairs", "gpu-pairs", 1)->front().problem ==
        "gpu-pairs: this machine has one GPU, and a pair needs two");
  CHECK(memoryPairs("host-gpus", "host-gpus", 0)->front().problem ==
        "host-gpus: this machine has no NVIDIA GPU");
}

TEST_CASE("other names are one pair, a name that is none is an error with what there is") {
  const auto pair = memoryPairs("host", "cuda:1", 0);
  REQUIRE(pair.ok());
  CHECK(textOf(*pair) == std::vector<std::string>{"host -> cuda:1"});
  const auto bad = memoryPairs("gpu-pair", "gpu-pair", 2);
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().what().find("did you mean 'gpu-pairs'?") != std::string::npos);
  CHECK_FALSE(memoryPairs("gpu-pairs", "host", 2).ok());
}
