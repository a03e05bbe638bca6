// SPDX-License-Identifier: Apache-2.0
// What each provider's facts let conclude. No libfabric is needed.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "transports/libfabric/adapter_counters.h"
#include "transports/libfabric/path_evidence.h"

namespace gdrbench::libfabric {
namespace {

using namespace evidence;

constexpr std::uint64_t kMadeUp = 1ull << 32;

bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

/// The first of the way that bears upon the path and is of this outcome or better known.
const Observation* find(const std::vector<Observation>& all, std::string_view id, Way way) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Observation& each) {
    return each.id == "libfabric." + std::string(id) && each.way == way;
  });
  return found == all.end() ? nullptr : &*found;
}

bool decides(const std::vector<Observation>& all) {
  return std::any_of(all.begin(), all.end(), [](const Observation& each) {
    return each.strength == Strength::kDecisive &&
           (each.outcome == Outcome::kDirect || each.outcome == Outcome::kStaged);
  });
}

SideFacts goodSide() {
  return {.onGpu = true,
          .sourceKey = 7,
          .targetKey = 8,
          .peerToPeerRequired = Answer::kAccepted,
          .emulatesWrite = false,
          .emulatesRead = false};
}

PathFacts factsOf(std::string provider) {
  PathFacts facts{.provider = std::move(provider),
                  .fabric = "efa",
                  .library = {2, 4},
                  .messageBytes = 1 << 20,
                  .offersGpuMemory = true,
                  .registration = "FI_HMEM_CUDA, by address",
                  .mine = goodSide(),
                  .peers = goodSide(),
                  .psm3GpuDirect = {},
                  .counters = {}};
  return facts;
}

Counters counted(std::uint64_t written, std::uint64_t came, std::uint64_t sent,
                 std::uint64_t received) {
  return {{"rdma_write_bytes", written},
          {"rdma_write_recv_bytes", came},
          {"send_bytes", sent},
          {"recv_bytes", received}};
}

constexpr std::uint64_t kPayload = 64 << 20;

std::vector<Observation> goodCounters() {
  return counterObservations(counted(5, 6, 7, 8), counted(5 + kPayload, 6 + kPayload, 1007, 1008),
                             {.out = kPayload, .back = kPayload}, Op::kWrite);
}

}  // namespace

TEST_CASE("libfabric evidence: each provider, by its facts") {
  struct Case {
    const char* name;
    const char* provider;
    std::function<void(PathFacts&)> change;
    const char* id;
    Outcome source, sink;
    Strength strength;
    const char* reason;
  };
  const auto nothing = [](PathFacts&) {};
  const Case kCases[] = {
      {"tcp", "tcp", nothing, "sockets", Outcome::kStaged, Outcome::kStaged, Strength::kDecisive,
       "pages of the host"},
      {"tcp under rxm", "tcp;ofi_rxm", nothing, "sockets", Outcome::kStaged, Outcome::kStaged,
       Strength::kDecisive, "pages of the host"},
      {"efa-direct", "efa", [](PathFacts& f) { f.fabric = "efa-direct"; }, "efa_direct",
       Outcome::kDirect, Outcome::kDirect, Strength::kDecisive, ""},
      {"efa, all and counted", "efa", [](PathFacts& f) { f.counters = goodCounters(); },
       "device_rma", Outcome::kDirect, Outcome::kDirect, Strength::kDecisive, ""},
      {"efa, all but counters", "efa", nothing, "device_rma", Outcome::kDirect, Outcome::kDirect,
       Strength::kStrong, "without the adapter's counters"},
      {"efa, peer emulates", "efa", [](PathFacts& f) { f.peers.emulatesWrite = true; },
       "device_rma", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak,
       "the peer's side emulates"},
      {"efa, emulation unknown", "efa", [](PathFacts& f) { f.mine.emulatesWrite.reset(); },
       "device_rma", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak,
       "or does not say"},
      {"efa, read emulated", "efa",
       [](PathFacts& f) {
         f.op = Op::kRead;
         f.mine.emulatesRead = true;
       },
       "device_rma", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak,
       "this side's side emulates"},
      {"efa, the option is silent", "efa",
       [](PathFacts& f) { f.mine.peerToPeerRequired = Answer::kSilent; }, "device_rma",
       Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak, "was not accepted"},
      {"efa, peer's keys made up", "efa", [](PathFacts& f) { f.peers.targetKey = kMadeUp; },
       "device_rma", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak,
       "the peer's memory is not registered"},
      {"efa, keys made up", "efa",
       [](PathFacts& f) {
         f.mine.sourceKey = kMadeUp;
         f.mine.targetKey = kMadeUp + 1;
       },
       "mr_key", Outcome::kStaged, Outcome::kStaged, Strength::kDecisive, "copies through its own"},
      {"efa-direct, keys made up", "efa",
       [](PathFacts& f) {
         f.fabric = "efa-direct";
         f.mine.sourceKey = f.mine.targetKey = kMadeUp;
       },
       "mr_key", Outcome::kStaged, Outcome::kStaged, Strength::kDecisive, "copies through its own"},
      {"efa, keys of an unknown version", "efa",
       [](PathFacts& f) {
         f.library = {2, 7};
         f.mine.sourceKey = f.mine.targetKey = kMadeUp;
       },
       "mr_key", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak, "this is 2.7"},
      {"efa, keys of 1.17", "efa",
       [](PathFacts& f) {
         f.library = {1, 17};
         f.mine.sourceKey = f.mine.targetKey = kMadeUp;
       },
       "mr_key", Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak, "this is 1.17"},
      {"efa, no key", "efa",
       [](PathFacts& f) { f.mine.sourceKey = f.mine.targetKey = ~std::uint64_t{0}; }, "mr_key",
       Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak, "has no key"},
      {"efa, peer-to-peer refused", "efa",
       [](PathFacts& f) { f.mine.peerToPeerRequired = Answer::kRefused; }, "p2p_required",
       Outcome::kStaged, Outcome::kStaged, Strength::kDecisive, "no peer-to-peer"},
      {"efa, CUDA calls cannot be forbidden", "efa",
       [](PathFacts& f) { f.cudaCallsForbidden = Answer::kRefused; }, "p2p_required",
       Outcome::kStaged, Outcome::kStaged, Strength::kDecisive, "no peer-to-peer"},
      {"efa, large messages", "efa", [](PathFacts& f) { f.op = Op::kSend; }, "messages",
       Outcome::kDirect, Outcome::kUnavailable, Strength::kStrong, ""},
      {"verbs under rxm, write", "verbs;ofi_rxm", nothing, "registration", Outcome::kDirect,
       Outcome::kDirect, Strength::kStrong, "stopped peer"},
      {"verbs under rxm, a large send", "verbs;ofi_rxm", [](PathFacts& f) { f.op = Op::kSend; },
       "registration", Outcome::kDirect, Outcome::kDirect, Strength::kStrong, "stopped peer"},
      {"verbs under rxm, an eager send", "verbs;ofi_rxm",
       [](PathFacts& f) {
         f.op = Op::kSend;
         f.messageBytes = 16384;
       },
       "rxm_messages", Outcome::kStaged, Outcome::kStaged, Strength::kDecisive,
       "buffers of its own"},
      {"verbs under rxm, a send in segments", "verbs;ofi_rxm",
       [](PathFacts& f) {
         f.op = Op::kSend;
         f.messageBytes = 16385;
       },
       "rxm_messages", Outcome::kStaged, Outcome::kStaged, Strength::kStrong, "buffers of its own"},
      {"psm3 by default", "psm3", nothing, "psm3_gpudirect", Outcome::kStaged, Outcome::kStaged,
       Strength::kStrong, "by default"},
      {"psm3 with GPUDirect", "psm3", [](PathFacts& f) { f.psm3GpuDirect = "1"; }, "psm3_gpudirect",
       Outcome::kUnavailable, Outcome::kUnavailable, Strength::kWeak, "PSM3_PRINT_STATS"},
      {"cxi", "cxi", nothing, "provider", Outcome::kUnavailable, Outcome::kUnavailable,
       Strength::kWeak, "does not tell"},
      {"opx", "opx", nothing, "provider", Outcome::kUnavailable, Outcome::kUnavailable,
       Strength::kWeak, "does not tell"},
      {"one that nobody knows", "warp", nothing, "provider", Outcome::kUnavailable,
       Outcome::kUnavailable, Strength::kWeak, "does not tell"},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    PathFacts facts = factsOf(each.provider);
    each.change(facts);
    const auto all = pathObservations(facts);
    const Observation* source = find(all, each.id, Way::kOut);
    const Observation* sink = find(all, each.id, Way::kBack);
    REQUIRE(source != nullptr);
    REQUIRE(sink != nullptr);
    CHECK(source->side == Side::kSource);
    CHECK(sink->side == Side::kSink);
    CHECK(source->outcome == each.source);
    CHECK(sink->outcome == each.sink);
    CHECK(source->strength == each.strength);
    CHECK(has(source->reason, each.reason));
    CHECK(decides(all) == (each.strength == Strength::kDecisive));
  }
}

TEST_CASE("libfabric evidence: small messages are staged for their size alone") {
  PathFacts rxm = factsOf("verbs;ofi_rxm");
  rxm.op = Op::kSend;
  rxm.messageBytes = 8;
  CHECK(find(pathObservations(rxm), "rxm_messages", Way::kOut)->bytes == 8);
  PathFacts efa = factsOf("efa");
  efa.op = Op::kSend;
  efa.messageBytes = 8;
  const auto all = pathObservations(efa);
  const Observation* sink = find(all, "messages", Way::kBack);
  REQUIRE(sink != nullptr);
  CHECK(sink->outcome == Outcome::kStaged);
  CHECK(sink->strength == Strength::kDecisive);
  CHECK(sink->bytes == 8);
  CHECK(find(all, "messages", Way::kOut)->outcome == Outcome::kDirect);
  CHECK(find(all, "messages", Way::kOut)->strength == Strength::kStrong);
}

TEST_CASE("libfabric evidence: shm cannot tell CUDA IPC from host memory, and does not") {
  const auto all = pathObservations(factsOf("shm"));
  const Observation* seen = find(all, "shared_memory", Way::kBoth);
  REQUIRE(seen != nullptr);
  CHECK(seen->outcome == Outcome::kNeutral);
  CHECK(seen->strength == Strength::kWeak);
  CHECK_FALSE(decides(all));
}

TEST_CASE("libfabric evidence: capabilities and silent options are never decisive") {
  for (const char* provider : {"efa", "verbs;ofi_rxm", "shm", "tcp", "cxi", "psm3"}) {
    CAPTURE(provider);
    PathFacts facts = factsOf(provider);
    const auto all = pathObservations(facts);
    const Observation* offer = find(all, "hmem", Way::kBoth);
    REQUIRE(offer != nullptr);
    CHECK(offer->kind == WitnessClass::kCapability);
    CHECK(offer->outcome == Outcome::kNeutral);
    CHECK(offer->strength == Strength::kWeak);
    const Observation* options = find(all, "options", Way::kBoth);
    CHECK((options == nullptr) == (facts.provider == "efa"));
    if (options != nullptr) CHECK(options->outcome == Outcome::kUnavailable);
  }
}

TEST_CASE("libfabric evidence: host memory has nothing to prove") {
  for (const char* provider : {"efa", "verbs;ofi_rxm", "tcp"}) {
    PathFacts facts = factsOf(provider);
    facts.mine.onGpu = false;
    CHECK(pathObservations(facts).empty());
  }
  // A peer in host memory has no peer-to-peer to require, and its keys are the adapter's.
  PathFacts mixed = factsOf("efa");
  mixed.peers.onGpu = false;
  mixed.peers.peerToPeerRequired = Answer::kNotAsked;
  mixed.counters = goodCounters();
  CHECK(find(pathObservations(mixed), "device_rma", Way::kOut)->outcome == Outcome::kDirect);
}

TEST_CASE("libfabric evidence: the adapter's counters against the payload") {
  struct Case {
    const char* name;
    Counters before, after;
    Payload payload;
    Outcome out, back;
    const char* reason;
  };
  const Counters zero = counted(0, 0, 0, 0);
  const Payload both{.out = kPayload, .back = kPayload};
  const Case kCases[] = {
      {"device writes both ways", zero, counted(kPayload, kPayload, 4096, 4096), both,
       Outcome::kDirect, Outcome::kDirect, ""},
      {"a tenth more, sent again", zero, counted(kPayload * 11 / 10, kPayload, 0, 0), both,
       Outcome::kDirect, Outcome::kDirect, ""},
      {"emulated by messages", zero, counted(0, 0, kPayload, kPayload), both, Outcome::kStaged,
       Outcome::kStaged, "emulated by messages"},
      {"one way emulated", zero, counted(0, kPayload, kPayload, 0), both, Outcome::kStaged,
       Outcome::kDirect, "emulated"},
      {"another adapter", zero, zero, both, Outcome::kNeutral, Outcome::kNeutral,
       "neither counter moved"},
      {"somebody else too", zero, counted(3 * kPayload, 3 * kPayload, 0, 0), both,
       Outcome::kNeutral, Outcome::kNeutral, "others use the adapter"},
      {"both operations", zero, counted(kPayload, kPayload, kPayload, kPayload), both,
       Outcome::kNeutral, Outcome::kNeutral, ""},
      {"reset between", counted(9, 9, 9, 9), zero, both, Outcome::kUnavailable,
       Outcome::kUnavailable, "went back"},
      {"an older adapter",
       {{"send_bytes", 0}, {"recv_bytes", 0}},
       {{"send_bytes", 9}, {"recv_bytes", 9}},
       both,
       Outcome::kUnavailable,
       Outcome::kUnavailable,
       "has no counter rdma_write"},
      {"too few bytes",
       zero,
       counted(4096, 4096, 0, 0),
       {.out = 4096, .back = 4096},
       Outcome::kUnavailable,
       Outcome::kUnavailable,
       "too few"},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    const auto all = counterObservations(each.before, each.after, each.payload, Op::kWrite);
    REQUIRE(all.size() == 2);
    CHECK(all[0].way == Way::kOut);
    CHECK(all[0].side == Side::kSource);
    CHECK(all[1].way == Way::kBack);
    CHECK(all[1].side == Side::kSink);
    CHECK(all[0].outcome == each.out);
    CHECK(all[1].outcome == each.back);
    CHECK(has(all[0].reason, each.reason));
    for (const Observation& seen : all) {
      CHECK(seen.kind == WitnessClass::kCounter);
      const bool decisive = seen.outcome == Outcome::kStaged;
      CHECK((seen.strength == Strength::kDecisive) == decisive);
    }
  }
}

TEST_CASE("libfabric evidence: counters of reads, and where there is nothing to count") {
  const Counters before{{"rdma_read_bytes", 1}, {"recv_bytes", 0}};
  const Counters after{{"rdma_read_bytes", 1 + kPayload}, {"recv_bytes", 100}};
  const auto all = counterObservations(before, after, {.back = kPayload}, Op::kRead);
  REQUIRE(all.size() == 1);
  CHECK(all[0].way == Way::kBack);
  CHECK(all[0].outcome == Outcome::kDirect);
  CHECK(counterObservations(before, after, {.back = kPayload}, Op::kSend).empty());
  CHECK(counterObservations({}, {}, {.out = kPayload}, Op::kWrite).empty());
}

TEST_CASE("libfabric evidence: counters are read from the domain's device") {
  namespace fs = std::filesystem;
  const fs::path sys = fs::temp_directory_path() / "gdrbench-adapter-counters";
  const fs::path folder = sys / "class/infiniband/rdmap0s6/ports/1/hw_counters";
  fs::remove_all(sys);
  fs::create_directories(folder);
  std::ofstream(folder / "rdma_write_bytes") << "123\n";
  std::ofstream(folder / "broken") << "many\n";
  const Counters read = readCounters(sys, "rdmap0s6-rdm");
  CHECK(read == Counters{{"rdma_write_bytes", 123}});
  CHECK(readCounters(sys, "rdmap0s7-rdm").empty());
  CHECK(readCounters(sys, "").empty());
  CHECK(readCounters(sys, "../../rdmap0s6-rdm").empty());
  fs::remove_all(sys);
}

}  // namespace gdrbench::libfabric
