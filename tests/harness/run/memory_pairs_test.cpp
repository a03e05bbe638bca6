// SPDX-License-Identifier: Apache-2.0
#include "harness/run/memory_pairs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

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

namespace {

/// The GPUs of a round, each as often as it occurs.
std::vector<std::string> devicesOf(const std::vector<MemoryPair>& pairs,
                                   const std::vector<std::size_t>& round) {
  std::vector<std::string> devices;
  for (const std::size_t each : round) {
    devices.push_back(pairs[each].source.device);
    devices.push_back(pairs[each].destination.device);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

}  // namespace

TEST_CASE("rounds of disjoint pairs are a tournament: everybody meets everybody, once each way") {
  for (int gpus = 2; gpus <= 17; ++gpus) {
    CAPTURE(gpus);
    const auto pairs = memoryPairs("gpu-pairs", "gpu-pairs", gpus);
    const auto rounds = disjointRounds(*pairs);
    CHECK(rounds.size() == static_cast<std::size_t>(2 * (gpus % 2 == 0 ? gpus - 1 : gpus)));
    std::vector<std::size_t> seen;
    for (const auto& round : rounds) {
      CHECK(round.size() == static_cast<std::size_t>(gpus / 2));
      const std::vector<std::string> devices = devicesOf(*pairs, round);
      CHECK(std::adjacent_find(devices.begin(), devices.end()) == devices.end());
      const auto& first = (*pairs)[round.front()];
      const bool down = std::stoi(first.source.device) > std::stoi(first.destination.device);
      for (const std::size_t each : round) {
        const MemoryPair& pair = (*pairs)[each];
        CHECK((std::stoi(pair.source.device) > std::stoi(pair.destination.device)) == down);
      }
      seen.insert(seen.end(), round.begin(), round.end());
    }
    std::sort(seen.begin(), seen.end());
    CHECK(seen.size() == pairs->size());
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }
}

TEST_CASE("host memory to all GPUs is one round, and back another, and kinds are not mixed") {
  auto pairs = *memoryPairs("host-gpus", "host-gpus", 8);
  auto rounds = disjointRounds(pairs);
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0].size() == 8);
  CHECK(rounds[1].size() == 8);
  const auto between = *memoryPairs("gpu-pairs", "gpu-pairs", 3);
  pairs = *memoryPairs("host-gpus", "host-gpus", 3);
  pairs.insert(pairs.end(), between.begin(), between.end());
  for (const auto& round : disjointRounds(pairs)) {
    const MemoryPair& first = pairs[round.front()];
    for (const std::size_t each : round) {
      CHECK(pairs[each].source.kind == first.source.kind);
      CHECK(pairs[each].destination.kind == first.destination.kind);
    }
  }
}

TEST_CASE("any pairs make rounds: host memory of no GPU keeps nobody busy") {
  const auto pairOf = [](const char* from, const char* to) {
    return memoryPairs(from, to, 0)->front();
  };
  const std::vector<MemoryPair> pairs = {pairOf("pinned", "cuda:0"), pairOf("pinned", "cuda:1"),
                                         pairOf("cuda:0", "cuda:1"), pairOf("cuda:2", "cuda:3"),
                                         pairOf("cuda:1", "cuda:2"), pairOf("host", "host")};
  std::vector<std::vector<std::size_t>> rounds = disjointRounds(pairs);
  std::sort(rounds.begin(), rounds.end());
  CHECK(rounds == std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(disjointRounds({}).empty());
}
