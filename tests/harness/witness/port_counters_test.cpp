// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/port_counters.h"

#include "tests/harness/environment/fake_tree.h"
#include "tests/harness/witness/seen.h"

using namespace gdrbench;
using namespace gdrbench::test;

namespace {

constexpr std::uint64_t kCarried = std::uint64_t{64} << 20;
constexpr std::uint64_t kUnits = kCarried / 4;
constexpr const char* kId = "port.bytes";

/// One or more ports in a tree, and the witness that looks at them.
struct Ports : FakeTree {
  FakeTime clock;
  Scene scene{.gpuPci = "0000:1b:00.0", .nic = "mlx5_0", .peerOnThisHost = false};

  static std::string file(const std::string& device, const std::string& name) {
    return "sys/class/infiniband/" + device + "/ports/1/" + name;
  }
  void set(const std::string& name, const std::string& value,
           const std::string& device = "mlx5_0") const {
    write(file(device, name), value);
  }
  void set(const std::string& name, std::uint64_t value,
           const std::string& device = "mlx5_0") const {
    set(name, std::to_string(value), device);
  }
  void bothAt(std::uint64_t value, const std::string& device = "mlx5_0") const {
    set("counters/port_xmit_data", value, device);
    set("counters/port_rcv_data", value, device);
  }

  /// Begin, `run`, a second, end.
  template <class Run>
  std::vector<Observation> watch(const Payload& payload, Run&& run) {
    const auto witness = witness::portCounters(scene, roots(), clock.time());
    CHECK(witness->id() == kId);
    witness->begin();
    run();
    clock.now += std::chrono::seconds(1);
    return witness->end(payload);
  }
};

const Payload kCarriedOut{.sentBytes = kCarried, .sentMessages = 64};
const Payload kCarriedIn{.receivedBytes = kCarried, .receivedMessages = 64};
const Payload kBothWays{kCarried, kCarried, 64, 64};

}  // namespace

TEST_CASE("the payload at the port that it was meant to pass") {
  struct Row {
    const char* name;
    std::string before, after;
    Outcome outcome;
    const char* reason;
  };
  const std::uint64_t turn = std::uint64_t{1} << 32;
  const Row rows[] = {
      {"exact", "1000", std::to_string(1000 + kUnits), Outcome::kDirect, ""},
      {"with headers", "0", std::to_string(kUnits + kUnits / 10), Outcome::kDirect, ""},
      {"a word short", "0", std::to_string(kUnits - 1), Outcome::kStaged, "did not pass"},
      {"nothing", "77", "77", Outcome::kStaged, "did not pass"},
      {"twice", "0", std::to_string(2 * kUnits), Outcome::kUnavailable, "others' traffic"},
      {"wraps at 32 bits", std::to_string(turn - 1000), std::to_string(kUnits - 900),
       Outcome::kDirect, ""},
      {"wraps at 64 bits", "18446744073709550616", std::to_string(kUnits - 900), Outcome::kDirect,
       ""},
      {"set back", "1000000000000", "5", Outcome::kUnavailable, "set back"},
      {"at its end", "4294967295", "4294967295", Outcome::kUnavailable, "end of 32 bits"},
      {"words", "N/A (no PMA)", "N/A (no PMA)", Outcome::kUnavailable, "no number"},
      {"words afterwards", "5", "-17", Outcome::kUnavailable, "'-17', no number"},
      {"empty", "", "", Outcome::kUnavailable, "no number"},
      {"binary", "5", "\xff\xfe", Outcome::kUnavailable, "no number"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    for (const bool out : {true, false}) {
      Ports ports;
      const std::string counter = out ? "counters/port_xmit_data" : "counters/port_rcv_data";
      ports.set(counter, row.before);
      const auto all =
          ports.watch(out ? kCarriedOut : kCarriedIn, [&] { ports.set(counter, row.after); });
      CHECK(all.size() == 1);
      const auto seen = only(all, kId, out ? Way::kOut : Way::kBack, Bearing::kConservation);
      checkSeen(seen, row.outcome, Strength::kStrong, out ? Side::kSource : Side::kSink,
                row.reason);
      CHECK(seen.kind == WitnessClass::kCounter);
      CHECK(seen.privilege == "none");
    }
  }
}

TEST_CASE("a 32-bit port counter that may have wrapped unseen") {
  Ports ports;
  ports.bothAt(0);
  const std::uint64_t payload = std::uint64_t{17} << 30;  // 2^32 counts are 16 GiB
  const auto all = ports.watch({.sentBytes = payload, .sentMessages = 17},
                               [&] { ports.bothAt((std::uint64_t{1} << 28) + 1000); });
  checkSeen(only(all, kId, Way::kOut, Bearing::kConservation), Outcome::kUnavailable,
            Strength::kStrong, Side::kSource, "wrapped unseen");
}

TEST_CASE("payload that passed another port is named") {
  Ports ports;
  for (const char* device : {"mlx5_0", "mlx5_1", "mlx5_2"}) ports.bothAt(0, device);
  const auto all = ports.watch(kCarriedOut, [&] {
    ports.bothAt(kUnits, "mlx5_1");
    ports.bothAt(25, "mlx5_2");
  });
  const auto seen = only(all, kId, Way::kOut, Bearing::kConservation);
  checkSeen(seen, Outcome::kStaged, Strength::kStrong, Side::kSource);
  CHECK(has(seen.observed, "0 bytes sent by mlx5_0 port 1 for 67108864 of payload"));
  CHECK(has(seen.observed, "other ports moved 67108964 bytes"));
  CHECK(has(seen.observed, "mlx5_1 port 1 (67108864)"));
  CHECK(has(seen.observed, "mlx5_2 port 1 (100)"));
}

TEST_CASE("traffic of other jobs makes the port unavailable, and never direct") {
  for (const std::uint64_t noise : {1'000U, 100'000U}) {
    Ports ports;
    ports.bothAt(0);
    // The second sleep is the idle sample of 20 ms; a second of messages follows.
    ports.clock.at = [&](std::size_t number) {
      if (number == 2) ports.bothAt(noise);
    };
    const auto all = ports.watch(kCarriedOut, [&] { ports.bothAt(noise + kUnits); });
    const auto seen = only(all, kId, Way::kOut, Bearing::kConservation);
    if (noise == 1'000) {
      checkSeen(seen, Outcome::kDirect, Strength::kStrong, Side::kSource);
    } else {
      checkSeen(seen, Outcome::kUnavailable, Strength::kStrong, Side::kSource,
                "moved while nothing ran");
    }
  }
}

TEST_CASE("counters are read no sooner than their lifespan") {
  const auto sleeps = [](const char* lifespan) {
    Ports ports;
    ports.bothAt(0);
    if (*lifespan != '\0') ports.set("hw_counters/lifespan", lifespan);
    const auto all = ports.watch(kCarriedOut, [&] { ports.bothAt(kUnits); });
    return std::pair(ports.clock.slept,
                     only(all, kId, ports.clock.slept[0] == 100 ? Way::kBoth : Way::kOut,
                          Bearing::kConservation));
  };
  using Slept = std::vector<long>;
  CHECK(sleeps("").first == Slept{10, 20, 10});
  CHECK(sleeps("5").first == Slept{10, 20, 10});
  CHECK(sleeps("nonsense").first == Slept{10, 20, 10});
  CHECK(sleeps("50").first == Slept{50, 50, 50});
  CHECK(sleeps("50").second.outcome == Outcome::kDirect);
  const auto [slept, seen] = sleeps("500");
  CHECK(slept == Slept{100, 100, 100});
  checkSeen(seen, Outcome::kUnavailable, Strength::kStrong, Side::kBoth, "every 500 ms");
}

TEST_CASE("two workers of one host may share a port") {
  for (const bool sameHost : {true, false}) {
    Ports ports;
    ports.scene.peerOnThisHost = sameHost;
    ports.bothAt(0);
    const auto all = ports.watch(kBothWays, [&] { ports.bothAt(2 * kUnits); });
    for (const Way way : {Way::kOut, Way::kBack}) {
      checkSeen(only(all, kId, way, Bearing::kConservation),
                sameHost ? Outcome::kDirect : Outcome::kUnavailable, Strength::kStrong,
                way == Way::kOut ? Side::kSource : Side::kSink);
    }
  }
}

TEST_CASE("what cannot be had of ports is unavailable with its reason") {
  struct Row {
    const char *nic, *reason;
    Way way;
  };
  for (const Row& row :
       {Row{"", "names no network device", Way::kOut}, Row{"eth0", "eth0 has no port 1", Way::kOut},
        Row{"mlx5_01", "mlx5_01 has no port 1", Way::kOut}}) {
    Ports ports;
    ports.bothAt(0);
    ports.scene.nic = row.nic;
    const auto all = ports.watch(kCarriedOut, [&] { ports.bothAt(kUnits); });
    const auto seen = only(all, kId, row.way, Bearing::kConservation);
    checkSeen(seen, Outcome::kUnavailable, Strength::kStrong, Side::kSource, row.reason);
    CHECK(has(seen.observed, "mlx5_0 port 1 (67108864)"));
  }
  Ports none;
  const auto all = none.watch(kCarriedOut, [] {});
  checkSeen(only(all, kId, Way::kBoth, Bearing::kConservation), Outcome::kUnavailable,
            Strength::kStrong, Side::kBoth, "no RDMA device in");
  CHECK(none.clock.slept.empty());
  Ports idle;
  idle.bothAt(0);
  checkSeen(only(idle.watch({}, [] {}), kId, Way::kBoth, Bearing::kConservation),
            Outcome::kUnavailable, Strength::kStrong, Side::kBoth, "no payload");
  Ports bare;
  bare.set("state", "4: ACTIVE");
  checkSeen(only(bare.watch(kCarriedOut, [] {}), kId, Way::kOut, Bearing::kConservation),
            Outcome::kUnavailable, Strength::kStrong, Side::kSource, "neither bytes nor packets");
  Ports gone;
  gone.bothAt(0);
  const auto lost = gone.watch(kCarriedOut, [&] {
    fs::remove_all(gone.sys() / "class/infiniband/mlx5_0/ports/1/counters");
  });
  checkSeen(only(lost, kId, Way::kOut, Bearing::kConservation), Outcome::kUnavailable,
            Strength::kStrong, Side::kSource, "cannot be read");
}

TEST_CASE("devices that count packets only") {
  for (const std::uint64_t packets : {16384U, 16383U}) {
    Ports ports;
    ports.scene.nic = "rxe0";
    ports.set("hw_counters/sent_pkts", std::uint64_t{7}, "rxe0");
    const auto all =
        ports.watch(kCarriedOut, [&] { ports.set("hw_counters/sent_pkts", 7 + packets, "rxe0"); });
    const bool enough = packets == 16384;  // of 4096 bytes
    checkSeen(only(all, kId, Way::kOut, Bearing::kConservation),
              enough ? Outcome::kDirect : Outcome::kStaged,
              enough ? Strength::kWeak : Strength::kStrong, Side::kSource);
  }
}

TEST_CASE("operations of an EFA device") {
  struct Row {
    const char* name;
    bool out;
    std::uint64_t write, send, read;
    Outcome outcome;
    Strength strength;
    const char* reason;
  };
  const Row rows[] = {
      {"direct write", true, kCarried, 5000, 0, Outcome::kDirect, Strength::kStrong, ""},
      {"direct write, its target", false, kCarried, 5000, 0, Outcome::kDirect, Strength::kStrong,
       ""},
      {"emulated write", true, 0, kCarried, 0, Outcome::kNeutral, Strength::kWeak,
       "sends carried it"},
      {"emulated write, its target", false, 0, kCarried, 0, Outcome::kStaged, Strength::kWeak,
       "sends carried it"},
      {"long read", false, 0, 5000, kCarried, Outcome::kNeutral, Strength::kWeak,
       "RDMA reads carried it"},
      {"half and half", true, kCarried / 2, kCarried / 2, 0, Outcome::kNeutral, Strength::kWeak,
       "no one kind"},
      {"others' writes too", true, 9 * kCarried, 0, 0, Outcome::kUnavailable, Strength::kWeak,
       "others' traffic"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Ports ports;
    ports.scene.nic = "rdmap0s6-rdm";  // a domain of libfabric's, not the device itself
    const auto set = [&](std::uint64_t write, std::uint64_t send, std::uint64_t read) {
      const auto one = [&](const char* name, std::uint64_t value) {
        ports.set(std::string("hw_counters/") + name, value, "rdmap0s6");
      };
      one(row.out ? "rdma_write_bytes" : "rdma_write_recv_bytes", write);
      one(row.out ? "rdma_write_recv_bytes" : "rdma_write_bytes", 0);
      one(row.out ? "send_bytes" : "recv_bytes", send);
      one(row.out ? "recv_bytes" : "send_bytes", 0);
      one("rdma_read_bytes", read);
      one("tx_bytes", row.out ? write + send : 0);
      one("rx_bytes", row.out ? 0 : write + send + read);
    };
    set(0, 0, 0);
    const auto all = ports.watch(row.out ? kCarriedOut : kCarriedIn,
                                 [&] { set(row.write, row.send, row.read); });
    const Way way = row.out ? Way::kOut : Way::kBack;
    const Side side = row.out ? Side::kSource : Side::kSink;
    const auto seen = only(all, "port.operations", way);
    checkSeen(seen, row.outcome, row.strength, side, row.reason);
    CHECK(only(all, kId, way, Bearing::kConservation).outcome ==
          (row.outcome == Outcome::kUnavailable ? Outcome::kUnavailable : Outcome::kDirect));
  }
}
