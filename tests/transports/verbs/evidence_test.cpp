// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "tests/transports/verbs/support.h"
#include "transports/verbs/path_evidence.h"

namespace gdrbench::verbs {
namespace {

using namespace evidence;

RegionFacts dmaBuf() {
  return {.registration = Registration::kDmaBuf,
          .bytes = 4096,
          .exporter = "nv_dmabuf",
          .exportedBytes = 1 << 21,
          .offset = 192,
          .pointer = "device"};
}

RegionFacts peerMemory(std::string pointer) {
  return {.registration = Registration::kPeerMemory,
          .bytes = 4096,
          .exporter = {},
          .pointer = std::move(pointer)};
}

PathFacts factsOf(const RegionFacts& region) {
  return {.onGpu = true, .source = region, .target = region, .device = "mlx5_0", .hardware = true};
}

}  // namespace

TEST_CASE("evidence: an adapter that was given GPU memory, and what takes that away") {
  struct Case {
    const char* name;
    PathFacts facts;
    std::function<void(PathFacts&)> change;
    Outcome source, sink;
    const char* reason;
  };
  const auto nothing = [](PathFacts&) {};
  const auto both = [](std::function<void(RegionFacts&)> change) {
    return [change](PathFacts& facts) {
      change(facts.source);
      change(facts.target);
    };
  };
  const Case kCases[] = {
      {"dma-buf", factsOf(dmaBuf()), nothing, Outcome::kDirect, Outcome::kDirect, ""},
      {"dma-buf, nobody to ask for the address", factsOf(dmaBuf()),
       both([](RegionFacts& r) { r.pointer.clear(); }), Outcome::kDirect, Outcome::kDirect, ""},
      {"peer memory", factsOf(peerMemory("device")), nothing, Outcome::kDirect, Outcome::kDirect,
       ""},
      {"peer memory, address unknown", factsOf(peerMemory("")), nothing, Outcome::kUnavailable,
       Outcome::kUnavailable, "did not say"},
      {"managed memory", factsOf(peerMemory("managed")), nothing, Outcome::kUnavailable,
       Outcome::kUnavailable, "either side"},
      {"host memory by its address", factsOf(peerMemory("host")), nothing, Outcome::kStaged,
       Outcome::kStaged, "host memory"},
      {"host registration",
       factsOf({.registration = Registration::kHost, .bytes = 4096, .exporter = {}, .pointer = {}}),
       nothing, Outcome::kStaged, Outcome::kStaged, "host memory"},
      {"another exporter", factsOf(dmaBuf()), both([](RegionFacts& r) { r.exporter = "udmabuf"; }),
       Outcome::kUnavailable, Outcome::kUnavailable, "is of udmabuf"},
      {"no exporter", factsOf(dmaBuf()), both([](RegionFacts& r) { r.exporter.clear(); }),
       Outcome::kUnavailable, Outcome::kUnavailable, "does not name"},
      {"outside the dma-buf", factsOf(dmaBuf()),
       both([](RegionFacts& r) { r.exportedBytes = 4096; }), Outcome::kUnavailable,
       Outcome::kUnavailable, "does not hold"},
      {"software", factsOf(dmaBuf()), [](PathFacts& f) { f.hardware = false; }, Outcome::kStaged,
       Outcome::kStaged, "with the CPU"},
      {"inline", factsOf(dmaBuf()), [](PathFacts& f) { f.inlineBytes = 64; }, Outcome::kStaged,
       Outcome::kDirect, "inline"},
      {"payload in completions", factsOf(dmaBuf()),
       [](PathFacts& f) { f.payloadInCompletions = true; }, Outcome::kDirect, Outcome::kUnavailable,
       ""},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    PathFacts facts = each.facts;
    each.change(facts);
    const auto all = pathObservations(facts);
    REQUIRE(all.size() == 2);
    CHECK(all[0].way == Way::kOut);
    CHECK(all[0].side == evidence::Side::kSource);
    CHECK(all[1].way == Way::kBack);
    CHECK(all[1].side == evidence::Side::kSink);
    CHECK(all[0].outcome == each.source);
    CHECK(all[1].outcome == each.sink);
    CHECK(all[0].strength == Strength::kDecisive);
    CHECK(all[0].kind == WitnessClass::kConstruction);
    CHECK_MESSAGE(has(all[0].reason, each.reason), all[0].reason);
  }
}

TEST_CASE("evidence: the dma-buf is in the words") {
  const auto all = pathObservations(factsOf(dmaBuf()));
  CHECK(has(all[0].observed, "4096 bytes at offset 192 of a dma-buf of 2097152 bytes"));
  CHECK(has(all[0].observed, "nv_dmabuf"));
}

TEST_CASE("evidence: host memory has nothing to prove") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  const Connected pair(fake);
  CHECK(pair.initiator.endpoint->observations().empty());
  CHECK(pair.responder.endpoint->observations().empty());
  CHECK(pathObservations({.source = dmaBuf(), .target = dmaBuf(), .device = {}}).empty());
}

TEST_CASE("evidence: what the kernel says of a descriptor") {
  RegionFacts facts;
  readFdInfo("pos:\t0\nflags:\t02\nsize:\t4194304\ncount:\t2\nexp_name:\tnv_dmabuf\nname:\tx\n",
             facts);
  CHECK(facts.exporter == "nv_dmabuf");
  CHECK(facts.exportedBytes == 4194304);
  RegionFacts none;
  readFdInfo("size: many\nexp_name\n:\n\n:::", none);
  CHECK(none.exporter.empty());
  CHECK(none.exportedBytes == 0);
  readFdInfo("exp_name:" + std::string(10000, 'x'), none);
  CHECK(none.exporter.size() == 64);
}

TEST_CASE("evidence: it is asked for while the descriptor is open") {
  namespace fs = std::filesystem;
  const fs::path proc = fs::temp_directory_path() / "gdrbench-fdinfo";
  fs::create_directories(proc / "self/fdinfo");
  FakeVerbs fake;
  fake.add("mlx5_0");
  Platform platform = platformOf(fake);
  platform.proc = proc;
  platform.kindOfAddress = [](const std::byte*) { return std::string("device"); };
  platform.exportDmaBuf = [&](std::byte*, std::uint64_t bytes, Mapping) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    std::ofstream(proc / "self/fdinfo" / std::to_string(fd))
        << "size:\t" << bytes << "\nexp_name:\tnv_dmabuf\n";
    return Result<DmaBufRange>(DmaBufRange{fd, 0, bytes});
  };
  const Buffer buffer(reinterpret_cast<std::byte*>(0x7f00'0000'0000), 4096,
                      {MemoryKind::kCuda, "0"}, -1, {});
  const auto region = registerBuffer(platform, nullptr, buffer,
                                     {.registration = Registration::kDmaBuf, .device = "mlx5_0"});
  REQUIRE(region.ok());
  const RegionFacts& facts = (*region)->facts();
  CHECK(facts.exporter == "nv_dmabuf");
  CHECK(facts.pointer == "device");
  CHECK(facts.bytes == 4096);
  CHECK(pathObservations(factsOf(facts))[0].outcome == Outcome::kDirect);
  fs::remove_all(proc);
}

}  // namespace gdrbench::verbs
