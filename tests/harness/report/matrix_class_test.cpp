// SPDX-License-Identifier: Apache-2.0
#include "harness/report/matrix_class.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace gdrbench::report;

namespace {

/// A machine's links, as `nvidia-smi topo -m` prints them: a line for each GPU, X for itself.
using Links = std::vector<std::vector<std::string>>;

Links linksFrom(const std::string& text) {
  Links links;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (!row.empty()) links.push_back(row);
  }
  return links;
}

/// HGX with eight GPUs on NVSwitch.
Links nvSwitch() {
  Links links(8, std::vector<std::string>(8, "NV18"));
  for (std::size_t i = 0; i < 8; ++i) links[i][i] = "X";
  return links;
}

/// Eight GPUs, two sockets, pairs below one PCIe switch.
Links pcieOnly() {
  return linksFrom(R"(
    X   PIX PHB PHB SYS SYS SYS SYS
    PIX X   PHB PHB SYS SYS SYS SYS
    PHB PHB X   PIX SYS SYS SYS SYS
    PHB PHB PIX X   SYS SYS SYS SYS
    SYS SYS SYS SYS X   PIX PHB PHB
    SYS SYS SYS SYS PIX X   PHB PHB
    SYS SYS SYS SYS PHB PHB X   PIX
    SYS SYS SYS SYS PHB PHB PIX X)");
}

/// A workstation: one GPU at the second socket, four at the first.
Links twoSockets() {
  return linksFrom(R"(
    X   SYS  SYS  SYS  SYS
    SYS X    PHB  NODE NODE
    SYS PHB  X    NODE NODE
    SYS NODE NODE X    PHB
    SYS NODE NODE PHB  X)");
}

double speedOf(const std::string& link) {
  if (link == "NV18") return 370;
  if (link == "PIX") return 26;
  if (link == "PHB") return 20;
  if (link == "NODE") return 18;
  return 9;
}

/// Each cell a little off, as measurements are.
std::vector<SpeedCell> healthy(const Links& links) {
  std::vector<SpeedCell> cells;
  for (std::size_t from = 0; from < links.size(); ++from) {
    for (std::size_t to = 0; to < links.size(); ++to) {
      if (from == to) continue;
      const double off = 1 + 0.03 * static_cast<double>((7 * from + 3 * to) % 5) / 5;
      const std::string& link = links[from][to];
      cells.push_back({from, to, "cuda -> cuda", link, speedOf(link) * off});
    }
  }
  return cells;
}

std::vector<SpeedCell> healthy(std::size_t gpus, const std::string& link = "NV18") {
  return healthy(Links(gpus, std::vector<std::string>(gpus, link)));
}

template <class Which>
std::vector<SpeedCell> slowed(std::vector<SpeedCell> cells, double factor, Which which) {
  for (SpeedCell& cell : cells) {
    if (which(cell)) cell.speed *= factor;
  }
  return cells;
}

std::size_t marked(const Judgement& found) {
  std::size_t count = 0;
  for (const auto& share : found.below) count += share ? 1 : 0;
  return count;
}

bool isLink(const SlowPart& part, std::size_t from, std::size_t to) {
  return !part.isPlace() && part.source == from && part.destination == to;
}

}  // namespace

TEST_CASE("healthy machines have no slow part, whatever their links") {
  for (const Links& links : {nvSwitch(), pcieOnly(), twoSockets()}) {
    const Judgement found = judge(healthy(links));
    CHECK(marked(found) == 0);
    CHECK(found.parts.empty());
  }
}

TEST_CASE("a slow pair is one cell and one link, in its own class") {
  for (const Links& links : {nvSwitch(), pcieOnly()}) {
    for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>{1, 4}, {0, 1}, {7, 0}}) {
      const auto cells = slowed(healthy(links), 0.6, [from = from, to = to](const SpeedCell& cell) {
        return cell.source == from && cell.destination == to;
      });
      const Judgement found = judge(cells);
      CHECK(marked(found) == 1);
      REQUIRE(found.parts.size() == 1);
      CHECK(isLink(found.parts[0], from, to));
      CHECK(found.parts[0].share == doctest::Approx(0.6).epsilon(0.05));
    }
  }
}

TEST_CASE("a slow GPU is slow in its row and its column, and its links are not blamed") {
  for (const Links& links : {nvSwitch(), pcieOnly()}) {
    const auto cells = slowed(healthy(links), 0.5, [](const SpeedCell& cell) {
      return cell.source == 3 || cell.destination == 3;
    });
    const Judgement found = judge(cells);
    CHECK(marked(found) == 14);
    REQUIRE(found.parts.size() == 1);
    CHECK(found.parts[0].source == 3);
    CHECK(found.parts[0].asSource);
    CHECK(found.parts[0].asDestination);
    CHECK(found.parts[0].share == doctest::Approx(0.5).epsilon(0.05));
  }
}

TEST_CASE("a GPU that only sends slowly is slow in its row") {
  const auto cells =
      slowed(healthy(nvSwitch()), 0.5, [](const SpeedCell& cell) { return cell.source == 6; });
  const Judgement found = judge(cells);
  CHECK(marked(found) == 7);
  REQUIRE(found.parts.size() == 1);
  CHECK(found.parts[0].source == 6);
  CHECK(found.parts[0].asSource);
  CHECK_FALSE(found.parts[0].asDestination);
}

TEST_CASE("a slow GPU and a slow link elsewhere are two parts") {
  const auto cells = slowed(healthy(nvSwitch()), 0.7, [](const SpeedCell& cell) {
    return cell.source == 2 || cell.destination == 2 || (cell.source == 5 && cell.destination == 7);
  });
  const Judgement found = judge(cells);
  CHECK(marked(found) == 15);
  REQUIRE(found.parts.size() == 2);
  CHECK(found.parts[0].source == 2);
  CHECK(isLink(found.parts[1], 5, 7));
}

TEST_CASE("three GPUs: a slow one touches four of six cells and is found all the same") {
  const auto slowGpu = slowed(healthy(3), 0.5, [](const SpeedCell& cell) {
    return cell.source == 2 || cell.destination == 2;
  });
  const Judgement gpu = judge(slowGpu);
  CHECK(marked(gpu) == 4);
  REQUIRE(gpu.parts.size() == 1);
  CHECK(gpu.parts[0].source == 2);
  CHECK(gpu.parts[0].asSource);
  CHECK(gpu.parts[0].asDestination);

  const auto slowPair = slowed(healthy(3), 0.5, [](const SpeedCell& cell) {
    return cell.source == 0 && cell.destination == 1;
  });
  const Judgement pair = judge(slowPair);
  CHECK(marked(pair) == 1);
  REQUIRE(pair.parts.size() == 1);
  CHECK(isLink(pair.parts[0], 0, 1));
}

TEST_CASE("three GPUs: a link that is slow both ways is two links and no GPU") {
  const auto cells = slowed(
      healthy(3), 0.5, [](const SpeedCell& cell) { return cell.source + cell.destination == 1; });
  const Judgement found = judge(cells);
  REQUIRE(found.parts.size() == 2);
  CHECK(isLink(found.parts[0], 0, 1));
  CHECK(isLink(found.parts[1], 1, 0));
}

TEST_CASE("classes are not compared with each other: across sockets is slow for all") {
  // The only class that is slow is the one across sockets, and all of it is.
  const Judgement found = judge(healthy(twoSockets()));
  CHECK(found.parts.empty());
  // Two cells make no class: nothing is said of them, however different they are.
  auto two = healthy(2);
  two[0].speed /= 10;
  CHECK(marked(judge(two)) == 0);
  CHECK(judge({}).parts.empty());
}

TEST_CASE("host memory is a class of its own, and a slow host link is one link") {
  auto cells = healthy(8);
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    cells.push_back({8, gpu, "pinned -> cuda", "PHB", gpu == 5 ? 25.0 : 55.0});
    cells.push_back({gpu, 8, "cuda -> pinned", "PHB", 54.0});
  }
  const Judgement found = judge(cells);
  CHECK(marked(found) == 1);
  REQUIRE(found.parts.size() == 1);
  CHECK(isLink(found.parts[0], 8, 5));
}

TEST_CASE("just above the floor is not below, and dead cells break nothing") {
  auto cells = healthy(4);
  for (SpeedCell& cell : cells) cell.speed = 100;
  cells[0].speed = 90.1;
  CHECK(marked(judge(cells)) == 0);
  cells[0].speed = 89.9;
  CHECK(marked(judge(cells)) == 1);
  for (SpeedCell& cell : cells) cell.speed = 0;
  CHECK(marked(judge(cells)) == 0);
}
