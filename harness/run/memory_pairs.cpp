// SPDX-License-Identifier: Apache-2.0
#include "harness/run/memory_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/core/units.h"
#include "harness/memory/memory_space.h"

namespace gdrbench {
namespace {

constexpr std::string_view kGpuPairs = "gpu-pairs";
constexpr std::string_view kHostGpus = "host-gpus";

MemoryName gpu(int index) {
  return {MemoryKind::kCuda, std::to_string(index)};
}
MemoryName hostNear(int index) {
  return {MemoryKind::kPinned, std::to_string(index)};
}

std::vector<MemoryPair> gpuPairs(int gpus) {
  if (gpus < 2) {
    return {{gpu(0), gpu(1),
             fmt::format("{}: this machine has {}", kGpuPairs,
                         gpus == 0 ? "no NVIDIA GPU" : "one GPU, and a pair needs two")}};
  }
  std::vector<MemoryPair> pairs;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from != to) pairs.push_back({gpu(from), gpu(to), {}});
    }
  }
  return pairs;
}

std::vector<MemoryPair> hostGpus(int gpus) {
  if (gpus == 0) {
    return {{hostNear(0), gpu(0), fmt::format("{}: this machine has no NVIDIA GPU", kHostGpus)}};
  }
  std::vector<MemoryPair> pairs;
  for (int each = 0; each < gpus; ++each) {
    pairs.push_back({hostNear(each), gpu(each), {}});
    pairs.push_back({gpu(each), hostNear(each), {}});
  }
  return pairs;
}

// --- pairs at the same time ----------------------------------------------------------------------

/// GPUs that a pair keeps busy. Host memory keeps none, unless it is named by one.
std::set<std::string> devicesOf(const MemoryPair& pair) {
  std::set<std::string> devices{pair.source.device, pair.destination.device};
  devices.erase("");
  return devices;
}

enum class Naming { kIndex, kPciAddress, kUuid };
Naming namingOf(const std::string& device) {
  if (parseInteger(device)) return Naming::kIndex;
  return device.find(':') != device.npos ? Naming::kPciAddress : Naming::kUuid;
}

/// 0 for a GPU that goes by another name: the rounds may then be fewer than they could be full.
int indexOf(const MemoryName& memory) {
  const auto index = parseInteger(memory.device);
  return index ? static_cast<int>(*index) : 0;
}

/// GPUs by number, one above the highest.
int gpusOf(std::span<const MemoryPair> pairs) {
  int most = 0;
  for (const MemoryPair& pair : pairs) {
    most = std::max({most, indexOf(pair.source), indexOf(pair.destination)});
  }
  return most + 1;
}

/// The round of a tournament in which two of n meet (circle method: of an even number, the last
/// stands still and the others go round it).
int meeting(int a, int b, int n) {
  const int circle = n % 2 == 0 ? n - 1 : n;
  if (std::max(a, b) == circle) return 2 * std::min(a, b) % circle;
  return (a + b) % circle;
}

/// A round that is being filled.
struct Round {
  std::tuple<MemoryKind, MemoryKind, bool> kind;  ///< of source and destination; downwards
  std::set<std::string> devices;
  std::vector<std::size_t> pairs;
};

auto kindOf(const MemoryPair& pair) {
  return std::tuple(pair.source.kind, pair.destination.kind,
                    indexOf(pair.source) > indexOf(pair.destination));
}

bool fits(const Round& round, const MemoryPair& pair) {
  const std::set<std::string> devices = devicesOf(pair);
  return round.kind == kindOf(pair) &&
         std::none_of(devices.begin(), devices.end(),
                      [&](const std::string& each) { return round.devices.contains(each); });
}

}  // namespace

std::optional<std::pair<std::string, std::string>> namedInTwoWays(
    std::span<const MemoryPair> pairs) {
  std::string first;
  for (const MemoryPair& pair : pairs) {
    for (const std::string& device : devicesOf(pair)) {
      if (first.empty()) first = device;
      if (namingOf(device) != namingOf(first)) return std::pair(first, device);
    }
  }
  return {};
}

std::vector<std::vector<std::size_t>> disjointRounds(std::span<const MemoryPair> pairs) {
  const int gpus = gpusOf(pairs);
  std::vector<std::size_t> order(pairs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // In the order of the meetings, each pair finds room in the round that is its own.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](const MemoryPair& pair) {
      return std::tuple(kindOf(pair),
                        meeting(indexOf(pair.source), indexOf(pair.destination), gpus));
    };
    return key(pairs[a]) < key(pairs[b]);
  });
  std::vector<Round> rounds;
  for (const std::size_t number : order) {
    const MemoryPair& pair = pairs[number];
    auto round = std::find_if(rounds.begin(), rounds.end(),
                              [&](const Round& each) { return fits(each, pair); });
    if (round == rounds.end()) round = rounds.insert(round, Round{kindOf(pair), {}, {}});
    round->devices.merge(devicesOf(pair));
    round->pairs.push_back(number);
  }
  std::vector<std::vector<std::size_t>> numbers;
  for (Round& round : rounds) numbers.push_back(std::move(round.pairs));
  return numbers;
}

Result<std::vector<MemoryPair>> memoryPairs(std::string_view source, std::string_view destination,
                                            int gpus) {
  if (source == destination && source == kGpuPairs) return gpuPairs(gpus);
  if (source == destination && source == kHostGpus) return hostGpus(gpus);
  auto from = parseMemoryName(source);
  if (!from) return from.error();
  auto to = parseMemoryName(destination);
  if (!to) return to.error();
  return std::vector<MemoryPair>{{*std::move(from), *std::move(to), {}}};
}

}  // namespace gdrbench
