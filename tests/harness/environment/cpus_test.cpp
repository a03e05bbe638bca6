// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "harness/environment/environment.h"
#include "tests/harness/environment/fake_tree.h"

using namespace gdrbench;
using test::FakeTree;
using test::TwoSockets;

namespace {

using Pair = std::pair<int, int>;

std::vector<int> upTo(int count) {
  std::vector<int> cpus(static_cast<std::size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

}  // namespace

TEST_CASE("each side runs near its GPU") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  const auto pair = [&](std::string_view a, std::string_view b) {
    return chooseCpuPair(upTo(16), topology, a, b);
  };
  CHECK(pair("0003:1a:00.0", "0003:9a:00.0") == Pair(0, 8));
  CHECK(pair("0003:9a:00.0", "0003:1a:00.0") == Pair(8, 0));
  CHECK(pair("0003:9a:00.0", "0003:aa:00.0") == Pair(8, 9));
  CHECK(pair("0003:9a:00.0", "0003:9a:00.0") == Pair(8, 9));
  CHECK(pair("0003:9a:00.0", "") == Pair(8, 9));
  CHECK(pair("", "0003:9a:00.0") == Pair(8, 9));
  CHECK(pair("", "") == Pair(0, 1));
  CHECK(pair("ff:00.0", "ff:01.0") == Pair(0, 1));
}

TEST_CASE("what this process may not use is not chosen") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  const auto pair = [&](const std::vector<int>& allowed) {
    return chooseCpuPair(allowed, topology, "0003:1a:00.0", "0003:1a:01.0");
  };
  CHECK(pair({2, 3, 9}) == Pair(2, 3));
  CHECK(pair({2, 6, 9}) == Pair(2, 9));  // 2 and 6 are threads of one core
  CHECK(pair({9, 10}) == Pair(9, 10));
  CHECK(pair({2, 6}) == Pair(2, 6));
  CHECK(pair({5}) == Pair(5, 5));
}

TEST_CASE("without devices: one NUMA node, also where its CPUs are not neighbours") {
  FakeTree tree;
  tree.node(0, "0,2", "10 21");
  tree.node(1, "1,3", "21 10");
  for (int each = 0; each < 4; ++each) tree.cpu(each, each % 2, each / 2);
  CHECK(chooseCpuPair(upTo(4), Topology(tree.sys())) == Pair(0, 2));
  CHECK(chooseCpuPair({0, 1, 3}, Topology(tree.sys())) == Pair(0, 1));
}

TEST_CASE("nothing in sysfs: the first two") {
  const FakeTree tree;
  CHECK(chooseCpuPair(upTo(4), Topology(tree.sys()), "3b:00.0", "") == Pair(0, 1));
}

TEST_CASE("CPUs are dealt by whole cores, so that no two have one in common") {
  const TwoSockets machine;
  const Topology topology(machine.sys());
  std::vector<int> all;
  for (std::size_t user = 0; user < 3; ++user) {
    const std::vector<int> own = dealtCpus(upTo(16), topology, user, 3);
    for (const int a : own) {
      for (const int b : all) CHECK(topology.coreOfCpu(a) != topology.coreOfCpu(b));
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == upTo(16));
  CHECK(dealtCpus(upTo(16), topology, 0, 1) == upTo(16));
  const FakeTree nothing;
  CHECK(dealtCpus(upTo(4), Topology(nothing.sys()), 1, 2) == std::vector<int>{1, 3});
  CHECK(dealtCpus(upTo(2), Topology(nothing.sys()), 2, 3).empty());
}

TEST_CASE("each NUMA node gives to everybody, also where its CPUs are not neighbours") {
  FakeTree tree;
  tree.node(0, "0,2,4,6", "10 21");
  tree.node(1, "1,3,5,7", "21 10");
  for (int each = 0; each < 8; ++each) tree.cpu(each, each % 2, each / 2);
  const Topology topology(tree.sys());
  for (std::size_t user = 0; user < 2; ++user) {
    const std::vector<int> own = dealtCpus(upTo(8), topology, user, 2);
    CHECK(own.size() == 4);
    CHECK(std::count_if(own.begin(), own.end(), [](int cpu) { return cpu % 2 == 0; }) == 2);
  }
}

TEST_CASE("this machine: the pair may be used") {
  const auto allowed = allowedCpus();
  const auto [a, b] = chooseCpuPair();
  CHECK(std::find(allowed.begin(), allowed.end(), a) != allowed.end());
  CHECK(std::find(allowed.begin(), allowed.end(), b) != allowed.end());
  CHECK((a != b || allowed.size() == 1));
}
