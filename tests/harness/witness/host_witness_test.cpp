// SPDX-License-Identifier: Apache-2.0
// Network devices, peer memory, mappings, CPU work; and all witnesses together.
#include <set>

#include "harness/witness/copy_mappings.h"
#include "harness/witness/cpu_work.h"
#include "harness/witness/memory_peers.h"
#include "harness/witness/netdev_bytes.h"
#include "tests/harness/environment/fake_tree.h"
#include "tests/harness/witness/seen.h"

using namespace gdrbench;
using namespace gdrbench::test;

namespace {

constexpr std::uint64_t kMoved = std::uint64_t{1} << 20;
const Payload kMovedOut{.sentBytes = kMoved, .sentMessages = 16};
const Payload kMovedIn{.receivedBytes = kMoved, .receivedMessages = 16};

struct Netdevs : FakeTree {
  FakeTime clock;
  Scene scene{.gpuPci = "0000:1b:00.0", .messageBytes = 65536};
  void set(const std::string& name, const std::string& value) const {
    write("sys/class/net/" + name + "/statistics/tx_bytes", value);
    write("sys/class/net/" + name + "/statistics/rx_bytes", value);
  }
  template <class Run>
  std::vector<Observation> watch(const Payload& payload, Run&& run) {
    const auto witness = witness::netdevBytes(scene, roots(), clock.time());
    witness->begin();
    run();
    clock.now += std::chrono::milliseconds(100);
    return witness->end(payload);
  }
};

constexpr const char* kNet = "netdev.bytes";

struct FakeMeter final : witness::WorkMeter {
  Known<std::uint64_t> count;
  bool starts = true;
  Status start() override {
    if (starts) return Done{};
    return systemError("count", EACCES, "paranoid is 4");
  }
  Known<std::uint64_t> instructions() override { return count; }
};

Observation workOf(bool starts, Known<std::uint64_t> count, const Payload& payload) {
  auto meter = std::make_unique<FakeMeter>();
  meter->starts = starts;
  meter->count = std::move(count);
  const auto witness = witness::cpuWork({}, std::move(meter));
  witness->begin();
  return only(witness->end(payload), "cpu.work");
}

}  // namespace

TEST_CASE("payload over a network device is a socket's") {
  for (const bool out : {true, false}) {
    Netdevs net;
    net.set("lo", "0");
    net.set("eth0", "9");
    const auto all =
        net.watch(out ? kMovedOut : kMovedIn, [&] { net.set("lo", std::to_string(kMoved + 999)); });
    CHECK(all.size() == 1);
    const auto seen = only(all, kNet, out ? Way::kOut : Way::kBack);
    checkSeen(seen, Outcome::kStaged, Strength::kStrong, out ? Side::kSource : Side::kSink);
    CHECK(has(seen.observed, "passed lo"));
    CHECK(seen.bytes == 65536);
  }
}

TEST_CASE("what network devices do not tell") {
  Netdevs quiet;
  quiet.set("lo", "5");
  checkSeen(only(quiet.watch(kMovedOut, [] {}), kNet, Way::kOut), Outcome::kNeutral,
            Strength::kWeak, Side::kSource, "no socket carried it");
  Netdevs host;
  host.scene.gpuPci = "";
  host.set("lo", "0");
  const auto over = [](Netdevs& net) { net.set("lo", std::to_string(kMoved)); };
  checkSeen(only(host.watch(kMovedOut, [&] { over(host); }), kNet, Way::kOut), Outcome::kNeutral,
            Strength::kWeak, Side::kSource, "nothing to stage");
  Netdevs small;
  small.set("lo", "0");
  checkSeen(only(small.watch({.sentBytes = 4096, .sentMessages = 1}, [&] { over(small); }), kNet,
                 Way::kOut),
            Outcome::kNeutral, Strength::kWeak, Side::kSource, "too little payload");
  Netdevs busy;
  busy.set("lo", "0");
  checkSeen(only(busy.watch(kMovedOut, [&] { busy.set("lo", "99999999"); }), kNet, Way::kOut),
            Outcome::kUnavailable, Strength::kWeak, Side::kSource, "others' traffic");
  Netdevs garbage;
  garbage.set("lo", "many");
  checkSeen(only(garbage.watch(kMovedOut, [] {}), kNet, Way::kOut), Outcome::kUnavailable,
            Strength::kWeak, Side::kSource, "holds 'many'");
  Netdevs none;
  checkSeen(only(none.watch(kMovedOut, [] {}), kNet), Outcome::kUnavailable, Strength::kWeak,
            Side::kBoth, "no network device");
}

TEST_CASE("a network device of an RDMA device may count RDMA too") {
  Netdevs net;
  net.pci("pci0000:3a/0000:3b:00.0");
  net.ofClass("class/infiniband/mlx5_0", "0000:3b:00.0");
  net.ofClass("class/net/ens0", "0000:3b:00.0");
  net.set("ens0", "0");
  const auto all = net.watch(kMovedOut, [&] { net.set("ens0", std::to_string(kMoved)); });
  checkSeen(only(all, kNet, Way::kOut), Outcome::kNeutral, Strength::kWeak, Side::kSource,
            "some drivers count its RDMA");
}

TEST_CASE("conservation at the network device that a transport names") {
  for (const bool passes : {true, false}) {
    Netdevs net;
    net.scene.nic = "eth0";
    net.set("eth0", "7");
    net.set("lo", "7");
    const auto all = net.watch(
        kMovedOut, [&] { net.set(passes ? "eth0" : "lo", std::to_string(kMoved + 500)); });
    checkSeen(only(all, kNet, Way::kOut, Bearing::kConservation),
              passes ? Outcome::kDirect : Outcome::kStaged, Strength::kStrong, Side::kSource);
    CHECK(only(all, kNet, Way::kOut).outcome == Outcome::kStaged);
  }
}

TEST_CASE("registrations of peer memory") {
  struct Row {
    const char *regions, *gpu;
    Outcome outcome;
    const char* reason;
  };
  for (const Row& row : {Row{"3", "0000:1b:00.0", Outcome::kDirect, ""},
                         Row{"2", "0000:1b:00.0", Outcome::kNeutral, "none since"},
                         Row{"two", "0000:1b:00.0", Outcome::kUnavailable, "no number"}}) {
    const FakeTree tree;
    tree.write("sys/kernel/mm/memory_peers/nv_mem/num_alloc_mrs", "2");
    tree.write("sys/kernel/mm/memory_peers/nv_mem/num_reg_bytes", "1000");
    const auto witness = witness::memoryPeers({.gpuPci = row.gpu, .messageBytes = 8}, tree.roots());
    tree.write("sys/kernel/mm/memory_peers/nv_mem/num_alloc_mrs", row.regions);
    tree.write("sys/kernel/mm/memory_peers/nv_mem/num_reg_bytes", "5096");
    witness->begin();
    const auto all = witness->end(kMovedOut);
    CHECK(all.size() == 2);
    const auto seen = only(all, "peer.registrations", Way::kOut);
    checkSeen(seen, row.outcome, Strength::kStrong, Side::kSource, row.reason);
    CHECK(seen.bytes == 0);
    if (row.outcome == Outcome::kDirect) CHECK(has(seen.observed, "1 regions of 4096 bytes"));
    checkSeen(only(all, "peer.registrations", Way::kBack), row.outcome, Strength::kStrong,
              Side::kSink, row.reason);
  }
  const FakeTree bare;
  checkSeen(only(witness::memoryPeers({.gpuPci = "0000:1b:00.0"}, bare.roots())->end(kMovedOut),
                 "peer.registrations"),
            Outcome::kUnavailable, Strength::kWeak, Side::kBoth, "no peer-memory client");
  checkSeen(only(witness::memoryPeers({}, bare.roots())->end(kMovedOut), "peer.registrations"),
            Outcome::kUnavailable, Strength::kWeak, Side::kBoth, "in the host");
}

TEST_CASE("mappings for copies by the CPU") {
  const FakeTree tree;
  const Scene scene{.gpuPci = "0000:1b:00.0"};
  const auto look = [&] {
    return only(witness::copyMappings(scene, tree.roots())->end(kMovedOut), "copy.mappings");
  };
  checkSeen(look(), Outcome::kUnavailable, Strength::kWeak, Side::kBoth, "cannot be read");
  tree.write("proc/self/maps", "55e0-55e1 r--p 00000000 fe:01 123 /usr/bin/gdrbench");
  checkSeen(look(), Outcome::kDirect, Strength::kWeak, Side::kBoth, "nothing else");
  CHECK(look().kind == WitnessClass::kCapability);
  tree.write("proc/self/maps", "55e0-55e1 r--p 00000000 fe:01 123 /lib/libgdrapi.so.2");
  const auto seen = look();
  checkSeen(seen, Outcome::kStaged, Strength::kWeak, Side::kBoth, "not seen");
  CHECK(has(seen.observed, "/lib/libgdrapi.so.2"));
}

TEST_CASE("instructions of the CPU are told and decide nothing") {
  const auto seen = workOf(true, std::uint64_t{2 * kMoved}, kMovedOut);
  checkSeen(seen, Outcome::kNeutral, Strength::kWeak, Side::kBoth, "waiting loops");
  CHECK(seen.kind == WitnessClass::kWork);
  CHECK(has(seen.observed, "2 instructions for each byte, 1.311e+05 for each message"));
  checkSeen(workOf(false, std::uint64_t{1}, kMovedOut), Outcome::kUnavailable, Strength::kWeak,
            Side::kBoth, "paranoid is 4");
  checkSeen(workOf(true, Known<std::uint64_t>::unknown("shared"), kMovedOut), Outcome::kUnavailable,
            Strength::kWeak, Side::kBoth, "shared");
  checkSeen(workOf(true, std::uint64_t{1}, {}), Outcome::kUnavailable, Strength::kWeak, Side::kBoth,
            "no payload");
}

TEST_CASE("instructions of this process, where the kernel counts them") {
  const auto meter = witness::perfWorkMeter({});
  if (const Status started = meter->start(); !started) {
    CHECK(!started.error().next.empty());
    return;
  }
  const auto count = meter->instructions();
  CHECK((count ? *count > 0 : !count.why.empty()));
}

TEST_CASE("every witness says something on any machine") {
  for (const char* gpu : {"", "0000:1b:00.0"}) {
    const Scene scene{.gpuPci = gpu, .peerGpuPci = gpu};
    std::set<std::string> ids;
    for (auto make : {+[](const Scene& s) { return witness::freeWitnesses(s); },
                      +[](const Scene& s) { return witness::passWitnesses(s); }}) {
      auto all = make(scene);
      for (const auto& each : all) each->begin();
      for (const auto& each : all) {
        INFO(each->id());
        const auto seen = each->end(kMovedOut);
        CHECK(!seen.empty());
        for (const Observation& one : seen) {
          ids.insert(one.id);
          CHECK((one.outcome != Outcome::kUnavailable || !one.reason.empty()));
          CHECK(one.artefact.size() <= evidence::kMaxArtefact);
        }
      }
    }
    for (const char* id : {"port.bytes", "netdev.bytes", "nvlink.bytes", "pcie.bytes",
                           "peer.registrations", "copy.mappings", "copy.records", "cpu.work"}) {
      CHECK(ids.contains(id));
    }
  }
}
