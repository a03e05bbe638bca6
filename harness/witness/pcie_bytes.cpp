// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/pcie_bytes.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "harness/witness/allowance.h"
#include "harness/witness/counter.h"
#include "harness/witness/nvml_counters.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

using evidence::Bearing;
using evidence::Observation;
using evidence::Outcome;
using evidence::PathKind;
using evidence::Strength;

constexpr std::uint64_t kTurn = std::uint64_t{1} << 32;  // the counter has 32 bits
// Less than an eighth of the payload: what starts copies and asks for their end, not data. One GPU
// that two processes share in turns was seen to receive a fifteenth.
constexpr std::uint64_t kHardly = 8;
constexpr std::uint64_t kExcess = 4;  // a quarter more than the bytes: headers, seen to be 8 %
// What starts a copy and tells of its end crosses as well: at most this for a message, so that one
// below the second is not seen among it.
constexpr std::uint64_t kStart = std::uint64_t{4} << 10, kPlain = std::uint64_t{64} << 10;
constexpr std::array kFields = {nvml::kPcieSentBytes, nvml::kPcieReceivedBytes};

class PcieBytes final : public Witness {
 public:
  PcieBytes(const Scene& scene, Result<std::shared_ptr<NvmlCounters>> nvml) : scene_(scene) {
    if (scene.gpuPci.empty()) {
      why_ = "this side's memory is in the host";
    } else if (!nvml) {
      why_ = nvml.error().what();
    } else if (const auto device = (*nvml)->device(scene.gpuPci); !device) {
      why_ = device.why;
    } else {
      nvml_ = *nvml;
      device_ = *device;
    }
  }

  [[nodiscard]] std::string_view id() const override { return "pcie.bytes"; }

  void begin() override {
    if (why_.empty()) before_ = {reading(0), reading(1)};
  }

  std::vector<Observation> end(const Payload& payload) override {
    Observation base = described();
    if (!why_.empty()) return {unavailable(std::move(base), why_)};
    const auto ways = passages(payload);
    if (ways.empty()) return {unavailable(std::move(base), "no payload went either way")};
    const std::array after = {reading(0), reading(1)};
    std::vector<Observation> all;
    for (const Passage& passage : ways) {
      const std::size_t which = passage.out() ? 0 : 1;
      all.push_back(see(passage, payload, before_[which], after[which]));
    }
    return all;
  }

 private:
  [[nodiscard]] Observation described() const {
    Observation seen = blank(id(), evidence::WitnessClass::kCounter, scene_);
    if (sameGpu()) {
      seen.strength =
          Strength::kStrong;  // where it cannot be had, that is named as what is missing
      seen.ifDirect = "hardly anything over PCIe: the payload does not leave the GPU";
      seen.ifStaged = "the payload over PCIe, out of the GPU and back into it";
      return seen;
    }
    seen.ifDirect = seen.ifStaged =
        "the payload over PCIe, or nothing where NVLink carries it: the GPU's port is crossed once "
        "either way";
    return seen;
  }

  [[nodiscard]] bool sameGpu() const {
    return scene_.peerOnThisHost && scene_.gpuPci == scene_.peerGpuPci;
  }

  [[nodiscard]] Known<std::uint64_t> reading(std::size_t which) const {
    return nvml_->read(device_, kFields.at(which), {0}).front();
  }

  [[nodiscard]] Observation see(const Passage& passage, const Payload& payload,
                                const Known<std::uint64_t>& before,
                                const Known<std::uint64_t>& after) const {
    Observation seen = of(passage, described());
    if (!before) return unavailable(std::move(seen), before.why);
    if (!after) return unavailable(std::move(seen), after.why);
    seen.artefact = artefact(fmt::format("{} -> {}", *before, *after));
    const auto moved = growth(*before, *after);
    if (!moved) return unavailable(std::move(seen), moved.why);
    seen.observed = fmt::format("{} bytes {} over PCIe for {} of payload", *moved,
                                passage.out() ? "sent" : "received", passage.bytes);
    if (passage.bytes >= kTurn) seen.observed += ", or that and a multiple of 2^32";
    if (sameGpu()) return withinOneGpu(std::move(seen), passage, payload, *moved);
    const bool flat =
        passage.bytes >= kMissable && passage.bytes < kTurn / 2 && *moved < passage.bytes / 2;
    if (!flat || scene_.peerOnThisHost) {
      return neutral(std::move(seen), "direct and staged bytes cross the GPU's PCIe port alike");
    }
    // The other host's bytes have to come in somewhere. A GPU that hangs on its CPU by NVLink-C2C
    // has another way in, hence weak.
    seen.bearing = Bearing::kConservation;
    seen.reason = "the payload did not pass this GPU's PCIe port";
    return concluded(std::move(seen), Outcome::kStaged, Strength::kWeak);
  }

  /// A direct path has no reason to leave the GPU, and a staged one leaves it once for each message
  /// and comes back once. That nothing was counted must have been shown to mean something: where
  /// the host is reached by NVLink-C2C, or a virtual machine shows a counter that stands still,
  /// staged bytes are not counted either (evidence/calibration.h).
  [[nodiscard]] Observation withinOneGpu(Observation seen, const Passage& passage,
                                         const Payload& payload, std::uint64_t moved) const {
    // Both workers stage over the one port that is counted.
    const std::uint64_t bytes = plus(payload.sentBytes, payload.receivedBytes);
    const std::uint64_t messages = plus(payload.sentMessages, payload.receivedMessages);
    if (plus(plus(bytes, bytes / kExcess), times(kStart, messages)) >= kTurn) {
      return neutral(std::move(seen), "a staged payload may have turned the counter over");
    }
    if (passage.bytes < kMissable) return neutral(std::move(seen), "too little payload to miss it");
    if (moved < passage.bytes / kHardly) {
      seen.path = PathKind::kSameGpu;
      seen.reason = "the payload did not leave the GPU by PCIe";
      return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    }
    if (moved < passage.bytes || scene_.messageBytes < kPlain) {
      return neutral(std::move(seen), "what starts copies, or a part of the payload");
    }
    // Whatever else the GPU does is counted, too: hence weak.
    seen.reason = "as much as the payload crossed PCIe, and both ends are on this GPU";
    return concluded(std::move(seen), Outcome::kStaged, Strength::kWeak);
  }

  Scene scene_;
  std::shared_ptr<NvmlCounters> nvml_;
  nvml::Device device_ = nullptr;
  std::array<Known<std::uint64_t>, 2> before_;
  std::string why_;
};

}  // namespace

std::unique_ptr<Witness> pcieBytes(const Scene& scene, Result<std::shared_ptr<NvmlCounters>> nvml) {
  return std::make_unique<PcieBytes>(scene, std::move(nvml));
}

}  // namespace gdrbench::witness
