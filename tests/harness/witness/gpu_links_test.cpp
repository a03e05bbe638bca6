// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/nvlink_bytes.h"
#include "harness/witness/nvml_counters.h"
#include "harness/witness/pcie_bytes.h"
#include "tests/harness/environment/fake_nvml.h"
#include "tests/harness/witness/seen.h"

using namespace gdrbench;
using namespace gdrbench::test;

namespace {

constexpr std::uint64_t kPayload = std::uint64_t{64} << 20;
constexpr std::uint64_t kKib = kPayload / 1024;
constexpr const char* kNvlink = "nvlink.bytes";
constexpr const char* kPcie = "pcie.bytes";

struct Gpus {
  FakeNvml nvml;
  Scene scene{.gpuPci = "0000:1b:00.0", .peerGpuPci = "0000:2b:00.0", .messageBytes = 1 << 20};

  Gpus() { nvml.gpus = {FakeGpu{.pci = "00000000:1B:00.0"}, FakeGpu{.pci = "00000000:2B:00.0"}}; }

  void set(unsigned field, unsigned scope, std::uint64_t value) {
    nvml.gpus[0].fields[{field, scope}] = value;
  }
  /// Of each link, either way.
  void links(const std::vector<std::uint64_t>& values) {
    set(nvml::kNvlinkCount, 0, values.size());
    for (unsigned i = 0; i < values.size(); ++i) {
      set(nvml::kNvlinkSentKib, i, values[i]);
      set(nvml::kNvlinkReceivedKib, i, values[i]);
    }
  }
  void pcie(std::uint64_t value) {
    set(nvml::kPcieSentBytes, 0, value);
    set(nvml::kPcieReceivedBytes, 0, value);
  }
  template <class Make, class Run>
  std::vector<Observation> watch(Make&& make, const Payload& payload, Run&& run) {
    std::vector<Observation> all;
    {
      const auto witness = make(scene, witness::NvmlCounters::open(nvml.lookup()));
      witness->begin();
      run();
      all = witness->end(payload);
    }
    CHECK(nvml.initialised == 0);
    return all;
  }
};

const Payload kSent{.sentBytes = kPayload, .sentMessages = 64};
const Payload kReceived{.receivedBytes = kPayload, .receivedMessages = 64};

Payload sent(std::uint64_t bytes) {
  return {.sentBytes = bytes, .sentMessages = 1};
}

}  // namespace

TEST_CASE("payload over NVLink, however the driver counts it") {
  struct Row {
    const char* name;
    std::vector<std::uint64_t> before, after;
    Outcome outcome;  ///< unavailable: one observation only
    const char* reason;
  };
  const Row rows[] = {
      {"repeated for each link", {5, 5, 5}, {5 + kKib, 5 + kKib, 5 + kKib}, Outcome::kDirect, ""},
      {"shares", {1, 2, 3}, {1 + kKib / 2, 2 + kKib / 4, 3 + kKib / 4 + 9}, Outcome::kDirect, ""},
      {"one link", {7}, {7 + kKib}, Outcome::kDirect, ""},
      {"cut to KiB on each", {1, 2, 3}, {1 + kKib - 3, 2, 3}, Outcome::kDirect, ""},
      {"fits the sum only", {0, 0}, {kKib / 2, kKib / 2}, Outcome::kUnavailable, "fits the sum"},
      {"nothing", {5, 6, 7}, {5, 6, 7}, Outcome::kStaged, "not over NVLink"},
      {"nothing, repeated", {5, 5, 5}, {5, 5, 5}, Outcome::kStaged, "not over NVLink"},
      {"flags", {5, 6}, {10, 60}, Outcome::kStaged, "not over NVLink"},
      {"three times", {0, 1}, {3 * kKib, 1}, Outcome::kUnavailable, "others' traffic"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    for (const bool out : {true, false}) {
      Gpus gpus;
      gpus.links(row.before);
      const auto all =
          gpus.watch(witness::nvlinkBytes, out ? kSent : kReceived, [&] { gpus.links(row.after); });
      const Way way = out ? Way::kOut : Way::kBack;
      const Side side = out ? Side::kSource : Side::kSink;
      const auto path = only(all, kNvlink, way);
      checkSeen(path, row.outcome, Strength::kStrong, side, row.reason);
      CHECK(path.bytes == 1 << 20);
      const bool direct = row.outcome == Outcome::kDirect;
      CHECK(name(path.path) == name(direct ? PathKind::kNvlink : PathKind::kNone));
      CHECK(all.size() == (row.outcome == Outcome::kUnavailable ? 1 : 2));
      if (all.size() == 2) {
        checkSeen(only(all, kNvlink, way, Bearing::kConservation), row.outcome, Strength::kStrong,
                  side);
      }
    }
  }
}

TEST_CASE("no link is asked for that the GPU does not have") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{18}}) {
    CAPTURE(count);
    Gpus gpus;
    gpus.links(std::vector<std::uint64_t>(count, 5));
    gpus.watch(witness::nvlinkBytes, kSent, [] {});
    for (const auto& [field, scope] : gpus.nvml.asked) {
      const bool counter = field == nvml::kNvlinkSentKib || field == nvml::kNvlinkReceivedKib;
      CHECK((!counter || scope < count));
    }
    CHECK(gpus.nvml.asked.contains({nvml::kNvlinkCount, 0}));
  }
}

TEST_CASE("a link that stops answering makes no smaller sum") {
  Gpus gpus;
  gpus.links({5, 6});
  const auto all = gpus.watch(witness::nvlinkBytes, kSent, [&] {
    gpus.links({5 + kKib, 6});
    gpus.nvml.gpus[0].fields.erase({nvml::kNvlinkSentKib, 1});
  });
  checkSeen(only(all, kNvlink, Way::kOut), Outcome::kUnavailable, Strength::kWeak, Side::kSource,
            "Not Supported");
}

TEST_CASE("half of the payload over NVLink is not conserved") {
  Gpus gpus;
  gpus.links({5, 6});
  const auto all = gpus.watch(witness::nvlinkBytes, kSent, [&] { gpus.links({5 + kKib / 2, 6}); });
  checkSeen(only(all, kNvlink, Way::kOut), Outcome::kNeutral, Strength::kWeak, Side::kSource,
            "a part of the payload");
  checkSeen(only(all, kNvlink, Way::kOut, Bearing::kConservation), Outcome::kStaged,
            Strength::kStrong, Side::kSource);
}

TEST_CASE("where nothing on NVLink says nothing") {
  struct Row {
    const char* reason;
    std::uint64_t bytes;
    void (*change)(Gpus&);
    Outcome outcome = Outcome::kNeutral;
  };
  const Row rows[] = {
      {"for a counter in KiB", 60 << 10, [](Gpus&) {}},
      {"to miss it on NVLink", 512 << 10, [](Gpus&) {}},
      {"no NVLink joins these two", kPayload, [](Gpus& gpus) { gpus.nvml.p2pNvlink = 5; }},
      {"not a GPU of this host", kPayload, [](Gpus& gpus) { gpus.scene.peerOnThisHost = false; }},
      {"not a GPU of this host", kPayload, [](Gpus& gpus) { gpus.scene.peerGpuPci = ""; }},
      {"on one GPU", kPayload, [](Gpus& gpus) { gpus.scene.peerGpuPci = gpus.scene.gpuPci; }},
      {"is unknown", kPayload, [](Gpus& gpus) { gpus.scene.peerGpuPci = "0000:9b:00.0"; },
       Outcome::kUnavailable},
      {"no nvmlDeviceGetP2PStatus", kPayload,
       [](Gpus& gpus) { gpus.nvml.missing = {"nvmlDeviceGetP2PStatus"}; }, Outcome::kUnavailable},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    Gpus gpus;
    gpus.links({5, 6, 7});
    row.change(gpus);
    const auto all = gpus.watch(witness::nvlinkBytes, sent(row.bytes), [] {});
    CHECK(all.size() == 1);
    checkSeen(only(all, kNvlink, Way::kOut), row.outcome, Strength::kWeak, Side::kSource,
              row.reason);
  }
}

TEST_CASE("what keeps GPU counters from being read") {
  struct Row {
    const char* reason;
    void (*change)(Gpus&);
  };
  const Row rows[] = {
      {"in the host", [](Gpus& gpus) { gpus.scene.gpuPci = ""; }},
      {"no GPU 0000:9b:00.0", [](Gpus& gpus) { gpus.scene.gpuPci = "0000:9b:00.0"; }},
      {"GPU is lost", [](Gpus& gpus) { gpus.nvml.gpus[0].lost = true; }},
      {"Not Supported", [](Gpus& gpus) { gpus.nvml.gpus[0].fields.clear(); }},
      {"no nvmlDeviceGetFieldValues",
       [](Gpus& gpus) { gpus.nvml.missing = {"nvmlDeviceGetFieldValues"}; }},
      {"Driver Not Loaded", [](Gpus& gpus) { gpus.nvml.initCode = nvml::kDriverNotLoaded; }},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    Gpus gpus;
    gpus.links({1});
    gpus.pcie(1);
    row.change(gpus);
    const auto links = gpus.watch(witness::nvlinkBytes, kSent, [] {});
    const auto pcie = gpus.watch(witness::pcieBytes, kSent, [] {});
    REQUIRE(links.size() == 1);
    REQUIRE(pcie.size() == 1);
    for (const Observation& one : {links.front(), pcie.front()}) {
      CHECK(name(one.outcome) == name(Outcome::kUnavailable));
      INFO(one.reason);
      CHECK(has(one.reason, row.reason));
    }
  }
}

TEST_CASE("PCIe bytes tell neither direct nor staged") {
  struct Row {
    const char* name;
    std::uint64_t before, after, payload;
    bool sameHost;
    Outcome outcome;
  };
  const Row rows[] = {
      {"with headers", 10, 10 + kPayload + kPayload / 12, kPayload, false, Outcome::kNeutral},
      {"wrapped", 0xFFFFFFF0, kPayload, kPayload, false, Outcome::kNeutral},
      {"flat beside NVLink", 10, 20, kPayload, true, Outcome::kNeutral},
      {"flat, from another host", 10, 20, kPayload, false, Outcome::kStaged},
      {"flat, but may have wrapped", 10, 20, std::uint64_t{5} << 30, false, Outcome::kNeutral},
      {"too small", 10, 20, 4096, false, Outcome::kNeutral},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Gpus gpus;
    gpus.scene.peerOnThisHost = row.sameHost;
    gpus.pcie(row.before);
    const auto all =
        gpus.watch(witness::pcieBytes, sent(row.payload), [&] { gpus.pcie(row.after); });
    const bool staged = row.outcome == Outcome::kStaged;
    const auto seen = only(all, kPcie, Way::kOut, staged ? Bearing::kConservation : Bearing::kPath);
    checkSeen(seen, row.outcome, Strength::kWeak, Side::kSource);
  }
}

TEST_CASE("PCIe bytes where both ends are on one GPU") {
  struct Row {
    const char* name;
    std::uint64_t before, after, payload, message;
    Outcome outcome;
    const char* reason;
  };
  constexpr std::uint64_t kLarge = 1 << 20, kGib = std::uint64_t{1} << 30;
  const Row rows[] = {
      {"nothing", 10, 10, kPayload, kLarge, Outcome::kDirect, "did not leave the GPU"},
      {"what starts copies", 10, 10 + kPayload / 17, kPayload, kLarge, Outcome::kDirect, ""},
      {"wrapped by little", 0xFFFFFFF0, 16, kPayload, kLarge, Outcome::kDirect, ""},
      {"an eighth", 10, 10 + kPayload / 8, kPayload, kLarge, Outcome::kNeutral, "a part"},
      {"nearly all", 10, 9 + kPayload, kPayload, kLarge, Outcome::kNeutral, "a part"},
      {"all", 10, 10 + kPayload, kPayload, kLarge, Outcome::kStaged, "as much as the payload"},
      {"of both workers", 10, 10 + 2 * kPayload, kPayload, kLarge, Outcome::kStaged, ""},
      {"of both, wrapped", 0xFFFFFFF0, 2 * kPayload, kPayload, kLarge, Outcome::kStaged, ""},
      {"small messages", 10, 10 + kPayload, kPayload, 4096, Outcome::kNeutral, "starts copies"},
      {"small messages, nothing", 10, 10, kPayload, 4096, Outcome::kDirect, ""},
      {"little", 10, 10, 4096, 4096, Outcome::kNeutral, "too little"},
      {"fits the counter", 10, 10, 3 * kGib, kLarge, Outcome::kDirect, ""},
      {"may have turned over", 10, 10, 4 * kGib - (kGib >> 1), kLarge, Outcome::kNeutral,
       "turned the counter over"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    for (const bool out : {true, false}) {
      Gpus gpus;
      gpus.scene.peerGpuPci = gpus.scene.gpuPci;
      gpus.scene.messageBytes = row.message;
      gpus.pcie(row.before);
      const Payload payload =
          out ? sent(row.payload) : Payload{.receivedBytes = row.payload, .receivedMessages = 1};
      const auto all = gpus.watch(witness::pcieBytes, payload, [&] { gpus.pcie(row.after); });
      REQUIRE(all.size() == 1);
      const auto seen = only(all, kPcie, out ? Way::kOut : Way::kBack);
      const bool direct = row.outcome == Outcome::kDirect;
      const bool staged = row.outcome == Outcome::kStaged;
      checkSeen(seen, row.outcome, staged ? Strength::kWeak : Strength::kStrong,
                out ? Side::kSource : Side::kSink, row.reason);
      CHECK(name(seen.path) == name(direct ? PathKind::kSameGpu : PathKind::kNone));
    }
  }
}

TEST_CASE("both ways at once over the one PCIe port of one GPU") {
  Gpus gpus;
  gpus.scene.peerGpuPci = gpus.scene.gpuPci;
  constexpr std::uint64_t kMuch = std::uint64_t{1700} << 20;
  gpus.pcie(10);
  const auto fits =
      gpus.watch(witness::pcieBytes, {.sentBytes = kMuch, .receivedBytes = kMuch / 2}, [] {});
  CHECK(only(fits, kPcie, Way::kOut).outcome == Outcome::kDirect);
  // Either way alone would fit: but both workers stage both ways over that port.
  const auto full =
      gpus.watch(witness::pcieBytes, {.sentBytes = kMuch, .receivedBytes = 2 * kMuch}, [] {});
  CHECK(only(full, kPcie, Way::kOut).outcome == Outcome::kNeutral);
  // An equal address on another host is another GPU.
  gpus.scene.peerOnThisHost = false;
  const auto apart = gpus.watch(witness::pcieBytes, kSent, [] {});
  CHECK(only(apart, kPcie, Way::kOut, Bearing::kConservation).outcome == Outcome::kStaged);
}
