// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/netdev_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/environment/nics.h"
#include "harness/witness/allowance.h"
#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

namespace fs = std::filesystem;
using evidence::Bearing;
using evidence::Observation;
using evidence::Outcome;
using evidence::Strength;

constexpr std::chrono::milliseconds kIdleSample{10};

struct Netdev {
  std::string name;
  bool rdma = false;  ///< an RDMA device is on the same PCI function
  Flow sent, received;
  [[nodiscard]] const Flow& flow(const Passage& passage) const {
    return passage.out() ? sent : received;
  }
};

class NetdevBytes final : public Witness {
 public:
  NetdevBytes(const Scene& scene, const Roots& roots, const Time& time)
      : scene_(scene), folder_(roots.sys / "class/net"), time_(time) {
    const std::vector<Nic> nics = findNics(Topology(roots.sys));
    for (const std::string& name : namesIn(folder_)) {
      Netdev netdev{.name = name};
      netdev.rdma = std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) {
        return nic.rdma && std::count(nic.netdevs.begin(), nic.netdevs.end(), name) > 0;
      });
      netdev.sent.name = name + " tx_bytes";
      netdev.received.name = name + " rx_bytes";
      netdevs_.push_back(std::move(netdev));
    }
  }

  [[nodiscard]] std::string_view id() const override { return "netdev.bytes"; }

  void begin() override {
    if (netdevs_.empty()) return;
    readInto(&Flow::idle);
    const auto start = time_.now();
    time_.sleep(kIdleSample);
    readInto(&Flow::before);
    started_ = time_.now();
    idle_ = started_ - start;
  }

  std::vector<Observation> end(const Payload& payload) override {
    readInto(&Flow::after);
    const auto run = time_.now() - started_;
    for (Netdev& netdev : netdevs_) {
      for (Flow* flow : {&netdev.sent, &netdev.received}) {
        flow->idleTime = idle_;
        flow->runTime = run;
      }
    }
    const Observation base = onPath();
    if (netdevs_.empty()) {
      return {unavailable(base, fmt::format("no network device in {}", folder_.string()))};
    }
    const auto ways = passages(payload);
    if (ways.empty()) return {unavailable(base, "no payload went either way")};
    std::vector<Observation> all;
    for (const Passage& passage : ways) {
      const Bounds bounds = portBounds(passage, payload, scene_);
      all.push_back(path(passage, bounds));
      for (const Netdev& netdev : netdevs_) {
        if (netdev.name == scene_.nic) all.push_back(conservation(netdev, passage, bounds));
      }
    }
    return all;
  }

 private:
  void readInto(Known<std::uint64_t> Flow::*reading) {
    for (Netdev& netdev : netdevs_) {
      const fs::path files = folder_ / netdev.name / "statistics";
      netdev.sent.*reading = readCount(files / "tx_bytes");
      netdev.received.*reading = readCount(files / "rx_bytes");
    }
  }

  [[nodiscard]] Observation onPath() const {
    Observation seen = blank(id(), evidence::WitnessClass::kCounter, scene_);
    seen.ifDirect = "no network device counts the payload";
    seen.ifStaged = "one counts it, where a socket carried it from and to pages of the host";
    return seen;
  }

  /// A socket's bytes go through pages of the host: the kernel has no others.
  [[nodiscard]] Observation path(const Passage& passage, const Bounds& bounds) const {
    Observation seen = of(passage, onPath());
    std::string raw;
    for (const Netdev& netdev : netdevs_) raw += netdev.flow(passage).text() + "\n";
    seen.artefact = artefact(raw);
    if (passage.bytes < kTooSmall) {
      return neutral(std::move(seen), "too little payload to be told from the control channel");
    }
    std::string unclear;
    for (const Netdev& netdev : netdevs_) {
      const Judgement judged = judge(netdev.flow(passage), bounds);
      if (judged.passed == Passed::kAll) return carried(std::move(seen), netdev, judged, bounds);
      if (judged.passed == Passed::kUnclear && unclear.empty()) unclear = judged.why;
    }
    if (!unclear.empty()) return unavailable(std::move(seen), unclear);
    seen.observed = "no network device counted the payload";
    return neutral(std::move(seen),
                   "no socket carried it; other ways of staging are not seen here");
  }

  [[nodiscard]] Observation carried(Observation seen, const Netdev& netdev, const Judgement& judged,
                                    const Bounds& bounds) const {
    seen.observed = fmt::format("{} bytes passed {} for {} of payload", judged.bytes, netdev.name,
                                bounds.payload);
    if (netdev.rdma) {
      return neutral(std::move(seen),
                     fmt::format("{} belongs to an RDMA device, and some drivers count its RDMA "
                                 "traffic there",
                                 netdev.name));
    }
    if (scene_.gpuPci.empty()) {
      return neutral(std::move(seen), "this side's memory is in the host: nothing to stage");
    }
    return concluded(std::move(seen), Outcome::kStaged, Strength::kStrong);
  }

  [[nodiscard]] Observation conservation(const Netdev& netdev, const Passage& passage,
                                         const Bounds& bounds) const {
    Observation seen = of(passage, blank(id(), evidence::WitnessClass::kCounter, scene_));
    seen.bearing = Bearing::kConservation;
    const Judgement judged = judge(netdev.flow(passage), bounds);
    seen.observed = fmt::format("{} bytes {} by {} for {} of payload", judged.bytes,
                                passage.out() ? "sent" : "received", netdev.name, passage.bytes);
    seen.ifDirect = fmt::format("the payload, and headers, counted by {}", netdev.name);
    seen.ifStaged = "less than the payload there: it went another way";
    seen.artefact = artefact(netdev.flow(passage).text());
    if (judged.passed == Passed::kUnclear) return unavailable(std::move(seen), judged.why);
    const bool all = judged.passed == Passed::kAll;
    return concluded(std::move(seen), all ? Outcome::kDirect : Outcome::kStaged, Strength::kStrong);
  }

  Scene scene_;
  fs::path folder_;
  Time time_;
  std::vector<Netdev> netdevs_;
  std::chrono::nanoseconds started_{0}, idle_{0};
};

}  // namespace

std::unique_ptr<Witness> netdevBytes(const Scene& scene, const Roots& roots, const Time& time) {
  return std::make_unique<NetdevBytes>(scene, roots, time);
}

}  // namespace gdrbench::witness
