// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/port_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/witness/allowance.h"
#include "harness/witness/counter.h"
#include "harness/witness/device_operations.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

namespace fs = std::filesystem;
using evidence::Bearing;
using evidence::Observation;
using evidence::Outcome;
using evidence::Strength;
using std::chrono::milliseconds;

constexpr milliseconds kIdleSample{20};
/// The kernel keeps a hardware counter's value for this long, unless `lifespan` says otherwise
/// (Documentation/ABI/stable/sysfs-class-infiniband).
constexpr std::uint64_t kLifespanMs = 10;
constexpr std::uint64_t kLongestWaitMs = 100;
/// Software devices count packets only. None is larger, or smaller, than these MTUs.
constexpr std::uint64_t kLargestPacket = 4096;
constexpr std::uint64_t kSmallestPacket = 256;

/// A file of a port and how it moved.
struct Counted {
  fs::path file;
  Flow flow;
};

struct Port {
  std::string device;
  int number = 0;
  fs::path folder;
  std::optional<Counted> sent, received;  ///< bytes
  std::optional<Counted> packetsSent, packetsReceived;
  std::vector<Counted> operations;

  [[nodiscard]] std::string name() const { return fmt::format("{} port {}", device, number); }
};

class PortCounters final : public Witness {
 public:
  PortCounters(const Scene& scene, const Roots& roots, const Time& time)
      : scene_(scene), folder_(roots.sys / "class/infiniband"), time_(time) {
    for (const std::string& device : namesIn(folder_)) addPorts(device);
    for (Port& port : ports_) choose(port);
  }

  [[nodiscard]] std::string_view id() const override { return "port.bytes"; }

  void begin() override {
    if (ports_.empty()) return;
    const milliseconds wait = lifespan();
    time_.sleep(wait);
    each([](Counted& one) { one.flow.idle = readCount(one.file); });
    const auto start = time_.now();
    time_.sleep(std::max(wait, kIdleSample));
    each([](Counted& one) { one.flow.before = readCount(one.file); });
    started_ = time_.now();
    each([&](Counted& one) { one.flow.idleTime = started_ - start; });
  }

  std::vector<Observation> end(const Payload& payload) override {
    if (!ports_.empty()) time_.sleep(lifespan());
    each([&](Counted& one) {
      one.flow.after = readCount(one.file);
      one.flow.runTime = time_.now() - started_;
    });
    const Observation base = blank(id(), evidence::WitnessClass::kCounter, scene_);
    if (ports_.empty()) {
      return {unavailable(onLink(base), fmt::format("no RDMA device in {}", folder_.string()))};
    }
    const auto ways = passages(payload);
    const Port* intended = find();
    if (ways.empty()) return {unavailable(onLink(base), "no payload went either way")};
    if (tooSlow()) return {unavailable(onLink(base), slowness())};
    std::vector<Observation> all;
    for (const Passage& passage : ways) {
      all.push_back(intended == nullptr ? nowhere(passage)
                                        : conservation(*intended, passage, payload));
      if (intended == nullptr || intended->operations.empty()) continue;
      all.push_back(operations(*intended, passage, payload));
    }
    return all;
  }

 private:
  void addPorts(const std::string& device) {
    for (const std::string& port : namesIn(folder_ / device / "ports")) {
      const auto number = numberAfter("", port);
      if (!number) continue;
      ports_.push_back({device, *number, folder_ / device / "ports" / port, {}, {}, {}, {}, {}});
    }
  }

  static std::optional<Counted> counted(const Port& port, const char* file, std::uint64_t unit) {
    const fs::path path = port.folder / file;
    std::error_code failed;
    if (!fs::exists(path, failed)) return std::nullopt;
    return Counted{path, {.name = port.name() + " " + path.filename().string(), .unit = unit}};
  }

  /// InfiniBand's own counters are in units of four bytes; EFA has bytes among its own.
  static void choose(Port& port) {
    port.sent = counted(port, "counters/port_xmit_data", 4);
    port.received = counted(port, "counters/port_rcv_data", 4);
    if (!port.sent) port.sent = counted(port, "hw_counters/tx_bytes", 1);
    if (!port.received) port.received = counted(port, "hw_counters/rx_bytes", 1);
    port.packetsSent = counted(port, "hw_counters/sent_pkts", 1);
    port.packetsReceived = counted(port, "hw_counters/rcvd_pkts", 1);
    for (const char* name : operationCounters()) {
      auto one = counted(port, (std::string("hw_counters/") + name).c_str(), 1);
      if (!one) continue;
      one->flow.name = name;
      port.operations.push_back(*std::move(one));
    }
  }

  template <class Do>
  void each(Do&& action) {
    for (Port& port : ports_) {
      for (auto* one : {&port.sent, &port.received, &port.packetsSent, &port.packetsReceived}) {
        if (*one) action(**one);
      }
      for (Counted& one : port.operations) action(one);
    }
  }

  [[nodiscard]] std::uint64_t longestLifespan() const {
    std::uint64_t longest = kLifespanMs;
    for (const Port& port : ports_) {
      for (const fs::path& file :
           {port.folder / "hw_counters/lifespan", folder_ / port.device / "hw_counters/lifespan"}) {
        longest = std::max(longest, readCount(file).value.value_or(0));
      }
    }
    return longest;
  }
  [[nodiscard]] milliseconds lifespan() const {
    return milliseconds(std::min(longestLifespan(), kLongestWaitMs));
  }
  [[nodiscard]] bool tooSlow() const { return longestLifespan() > kLongestWaitMs; }
  [[nodiscard]] std::string slowness() const {
    return fmt::format(
        "the counters are renewed every {} ms only (hw_counters/lifespan), more "
        "than the {} ms that are waited for",
        longestLifespan(), kLongestWaitMs);
  }

  /// Transports name domains: "rdmap16s27-rdm" and "mlx5_0:1" belong to the devices before the
  /// mark.
  [[nodiscard]] bool names(const std::string& device) const {
    if (!scene_.nic.starts_with(device)) return false;
    return scene_.nic.size() == device.size() || scene_.nic[device.size()] == '-' ||
           scene_.nic[device.size()] == ':';
  }
  [[nodiscard]] const Port* find() const {
    for (const Port& port : ports_) {
      if (names(port.device) && port.number == scene_.nicPort) return &port;
    }
    return nullptr;
  }

  /// Bytes that all other ports moved in that direction, and which.
  [[nodiscard]] std::string elsewhere(const Port* intended, const Passage& passage) const {
    std::uint64_t total = 0;
    std::string where;
    for (const Port& port : ports_) {
      const auto& one = passage.out() ? port.sent : port.received;
      if (&port == intended || !one) continue;
      const Judgement judged = judge(one->flow, {0, ~std::uint64_t{0}});
      if (judged.bytes == 0) continue;
      total = plus(total, judged.bytes);
      where += fmt::format("{}{} ({})", where.empty() ? "" : ", ", port.name(), judged.bytes);
    }
    return total == 0 ? "" : fmt::format("other ports moved {} bytes: {}", total, where);
  }

  [[nodiscard]] Observation onLink(Observation seen) const {
    seen.bearing = Bearing::kConservation;
    const std::string port = scene_.nic.empty()
                                 ? "the NIC's port"
                                 : fmt::format("{} port {}", scene_.nic, scene_.nicPort);
    seen.ifDirect = fmt::format("the payload, and headers, counted by {}", port);
    seen.ifStaged =
        "less than the payload there: it went through shared memory, NVLink or "
        "another NIC";
    return seen;
  }

  [[nodiscard]] Observation nowhere(const Passage& passage) const {
    Observation seen = of(passage, onLink(blank(id(), evidence::WitnessClass::kCounter, scene_)));
    seen.observed = elsewhere(nullptr, passage);
    return unavailable(std::move(seen),
                       scene_.nic.empty() ? "the transport names no network device"
                                          : fmt::format("{} has no port {} among the RDMA devices",
                                                        scene_.nic, scene_.nicPort));
  }

  [[nodiscard]] Observation conservation(const Port& port, const Passage& passage,
                                         const Payload& payload) const {
    Observation seen = of(passage, onLink(blank(id(), evidence::WitnessClass::kCounter, scene_)));
    const auto& one = passage.out() ? port.sent : port.received;
    if (!one) return byPackets(std::move(seen), port, passage, payload);
    const Judgement judged = judge(one->flow, portBounds(passage, payload, scene_));
    seen.artefact = artefact(one->flow.text());
    seen.observed = fmt::format("{} bytes {} by {} for {} of payload", judged.bytes,
                                passage.out() ? "sent" : "received", port.name(), passage.bytes);
    if (judged.passed == Passed::kUnclear) return unavailable(std::move(seen), judged.why);
    if (judged.passed == Passed::kAll) {
      return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    }
    if (const std::string others = elsewhere(&port, passage); !others.empty()) {
      seen.observed += "; " + others;
    }
    seen.reason = scene_.peerOnThisHost
                      ? "both sides are on one host: shared memory, NVLink, or a NIC that turns "
                        "its own traffic round without counting it"
                      : "the payload did not pass this port";
    return concluded(std::move(seen), Outcome::kStaged, Strength::kStrong);
  }

  /// Too few packets refute; enough of them, of unknown size, are a weak sign.
  [[nodiscard]] static Observation byPackets(Observation seen, const Port& port,
                                             const Passage& passage, const Payload& payload) {
    const auto& one = passage.out() ? port.packetsSent : port.packetsReceived;
    if (!one)
      return unavailable(std::move(seen), port.name() + " counts neither bytes nor packets");
    const std::uint64_t least = (passage.bytes + kLargestPacket - 1) / kLargestPacket;
    const std::uint64_t all = plus(payload.sentBytes, payload.receivedBytes);
    const std::uint64_t messages = plus(payload.sentMessages, payload.receivedMessages);
    const std::uint64_t most = plus(plus(all / kSmallestPacket, kTooSmall), times(8, messages));
    const Judgement judged = judge(one->flow, {least, most});
    seen.artefact = artefact(one->flow.text());
    seen.observed =
        fmt::format("{} packets {} by {}, at least {} needed for {} bytes of payload", judged.bytes,
                    passage.out() ? "sent" : "received", port.name(), least, passage.bytes);
    if (judged.passed == Passed::kUnclear) return unavailable(std::move(seen), judged.why);
    const bool enough = judged.passed == Passed::kAll;
    seen.reason = enough ? "the port counts packets and no bytes" : "too few packets";
    return concluded(std::move(seen), enough ? Outcome::kDirect : Outcome::kStaged,
                     enough ? Strength::kWeak : Strength::kStrong);
  }

  [[nodiscard]] Observation operations(const Port& port, const Passage& passage,
                                       const Payload& payload) const {
    std::vector<Flow> flows;
    for (const Counted& one : port.operations) flows.push_back(one.flow);
    return operationsSeen(scene_, passage, flows, portBounds(passage, payload, scene_));
  }

  Scene scene_;
  fs::path folder_;
  Time time_;
  std::vector<Port> ports_;
  std::chrono::nanoseconds started_{0};
};

}  // namespace

std::unique_ptr<Witness> portCounters(const Scene& scene, const Roots& roots, const Time& time) {
  return std::make_unique<PortCounters>(scene, roots, time);
}

}  // namespace gdrbench::witness
