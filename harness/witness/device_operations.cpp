// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/device_operations.h"

#include <fmt/format.h>

#include <string>

namespace gdrbench::witness {
namespace {

using evidence::Observation;
using evidence::Outcome;
using evidence::Strength;

constexpr const char* kNames[] = {"rdma_write_bytes", "rdma_write_recv_bytes", "rdma_read_bytes",
                                  "send_bytes", "recv_bytes"};

Judgement judgeNamed(std::span<const Flow> flows, std::string_view name, const Bounds& bounds) {
  for (const Flow& flow : flows) {
    if (flow.name == name) return judge(flow, bounds);
  }
  return {Passed::kUnclear, 0, fmt::format("the device does not count {}", name)};
}

/// Small beside the payload: control messages, not the data.
bool hardly(const Judgement& judged, const Bounds& bounds) {
  return judged.passed == Passed::kLess && judged.bytes < bounds.payload / 2;
}

/// The driver's emulation of a write is a send; but a program may also have sent of its own will,
/// and where the fabric gives the device the user's own buffer, that is direct.
Observation sentInstead(Observation seen, const Passage& passage) {
  if (passage.out()) {
    return neutral(std::move(seen),
                   "sends carried it; the device reads a send from GPU memory or from a copy in "
                   "the host alike");
  }
  seen = concluded(std::move(seen), Outcome::kStaged, Strength::kWeak);
  seen.reason =
      "sends carried it: a write was emulated, or messages were sent; what arrives as a send may "
      "land in a buffer of the library first";
  return seen;
}

}  // namespace

std::span<const char* const> operationCounters() {
  return kNames;
}

Observation operationsSeen(const Scene& scene, const Passage& passage, std::span<const Flow> flows,
                           const Bounds& bounds) {
  const bool out = passage.out();
  const auto written =
      judgeNamed(flows, out ? "rdma_write_bytes" : "rdma_write_recv_bytes", bounds);
  const auto sent = judgeNamed(flows, out ? "send_bytes" : "recv_bytes", bounds);
  const auto read = judgeNamed(flows, "rdma_read_bytes", bounds);
  Observation seen = of(passage, blank("port.operations", evidence::WitnessClass::kCounter, scene));
  seen.observed =
      fmt::format("{} bytes {} by RDMA write, {} by send and {} read for {} of payload",
                  written.bytes, out ? "sent" : "received", sent.bytes, read.bytes, bounds.payload);
  seen.ifDirect =
      "RDMA writes of the device for the payload: it does these on the user's own memory";
  seen.ifStaged = "sends for the payload, out of and into buffers of the library";
  std::string raw;
  for (const Flow& flow : flows) raw += flow.text() + "\n";
  seen.artefact = artefact(raw);
  if (written.passed == Passed::kUnclear) return unavailable(std::move(seen), written.why);
  if (sent.passed == Passed::kUnclear) return unavailable(std::move(seen), sent.why);
  if (written.passed == Passed::kAll && hardly(sent, bounds)) {
    return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
  }
  if (sent.passed == Passed::kAll && hardly(written, bounds)) {
    return sentInstead(std::move(seen), passage);
  }
  if (read.passed == Passed::kAll && !out) {
    return neutral(std::move(seen),
                   "RDMA reads carried it: from the peer, or from a buffer of this host, which "
                   "count alike");
  }
  return neutral(std::move(seen), "no one kind of operation carried the payload");
}

}  // namespace gdrbench::witness
