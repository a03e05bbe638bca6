// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/nvlink_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "harness/witness/allowance.h"
#include "harness/witness/nvml_counters.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

using evidence::Bearing;
using evidence::Observation;
using evidence::Outcome;
using evidence::PathKind;
using evidence::Strength;

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kShareOfFlags = 16;  // less than a sixteenth: flags, not data

std::string shown(const LinkReading& reading) {
  return reading ? fmt::format("{}", fmt::join(*reading, " ")) : unknownText(reading.why);
}

bool sameOnAll(const LinkReading& reading) {
  return reading && reading.value->size() > 1 &&
         std::all_of(reading.value->begin(), reading.value->end(),
                     [&](std::uint64_t link) { return link == reading.value->front(); });
}

Known<std::uint64_t> total(const LinkReading& reading) {
  if (!reading) return Known<std::uint64_t>::unknown(reading.why);
  return std::accumulate(reading.value->begin(), reading.value->end(), std::uint64_t{0}, plus);
}

class NvlinkBytes final : public Witness {
 public:
  NvlinkBytes(const Scene& scene, Result<std::shared_ptr<NvmlCounters>> nvml) : scene_(scene) {
    if (scene.gpuPci.empty()) {
      why_ = "this side's memory is in the host";
    } else if (!nvml) {
      why_ = nvml.error().what();
    } else {
      nvml_ = *nvml;
      find();
    }
  }

  [[nodiscard]] std::string_view id() const override { return "nvlink.bytes"; }

  void begin() override {
    if (!why_.empty()) return;
    before_ = {reading(nvml::kNvlinkSentKib), reading(nvml::kNvlinkReceivedKib)};
  }

  std::vector<Observation> end(const Payload& payload) override {
    Observation base = described();
    if (!why_.empty()) return {unavailable(std::move(base), why_)};
    const auto ways = passages(payload);
    if (ways.empty()) return {unavailable(std::move(base), "no payload went either way")};
    const std::array<LinkReading, 2> after = {reading(nvml::kNvlinkSentKib),
                                              reading(nvml::kNvlinkReceivedKib)};
    std::vector<Observation> all;
    for (const Passage& passage : ways) {
      const std::size_t which = passage.out() ? 0 : 1;
      see(all, passage, payload, before_[which], after[which]);
    }
    return all;
  }

 private:
  void find() {
    const auto device = nvml_->device(scene_.gpuPci);
    if (!device) {
      why_ = device.why;
      return;
    }
    device_ = *device;
    findLinks();
    if (scene_.peerGpuPci.empty() || !scene_.peerOnThisHost) return;
    if (const auto peer = nvml_->device(scene_.peerGpuPci)) {
      joined_ = nvml_->nvlinkBetween(device_, *peer);
    } else {
      joined_ = Known<bool>::unknown(peer.why);
    }
  }

  /// Link by link, and only those that the GPU has. NVML can be asked for all at once (scope ~0)
  /// and answers, but programs that had asked ended soon after with a broken heap (two H200, driver
  /// 580.159.04; see README.md).
  void findLinks() {
    const auto count = nvml_->read(device_, nvml::kNvlinkCount, {0}).front();
    std::vector<unsigned> every(std::min<std::size_t>(count.value.value_or(0), nvml::kMostLinks));
    std::iota(every.begin(), every.end(), 0U);
    why_ = "no NVLink counters: " + (count ? "this GPU has no links" : count.why);
    if (every.empty()) return;
    const auto sent = nvml_->read(device_, nvml::kNvlinkSentKib, every);
    for (const unsigned link : every) {
      if (sent[link]) links_.push_back(link);
    }
    why_ = links_.empty() ? "no NVLink counters: " + sent.front().why : "";
  }

  [[nodiscard]] Observation described() const {
    Observation seen = blank(id(), evidence::WitnessClass::kCounter, scene_);
    seen.ifDirect = "the payload over NVLink";
    seen.ifStaged = "nothing over NVLink: through memory of the host";
    return seen;
  }

  /// A link that stopped answering would make the sum smaller than it is: none is better.
  [[nodiscard]] LinkReading reading(unsigned field) const {
    std::vector<std::uint64_t> links;
    for (const Known<std::uint64_t>& each : nvml_->read(device_, field, links_)) {
      if (!each) return LinkReading::unknown(each.why);
      links.push_back(*each);
    }
    return links;
  }

  void see(std::vector<Observation>& all, const Passage& passage, const Payload& payload,
           const LinkReading& before, const LinkReading& after) const {
    Observation seen = of(passage, described());
    seen.artefact =
        artefact(fmt::format("KiB before: {}\nKiB after: {}", shown(before), shown(after)));
    if (passage.bytes < kTooSmall) {
      all.push_back(neutral(std::move(seen), "too little payload for a counter in KiB"));
      return;
    }
    const Bounds bounds = nvlinkBounds(passage, payload, links_.size());
    const GpuWide wide = gpuWide(before, after);
    const Judgement judged = judge(wide.flow, bounds);
    seen.observed = fmt::format("{} KiB {} over NVLink for {} KiB of payload", judged.bytes / kKib,
                                passage.out() ? "sent" : "received", passage.bytes / kKib);
    if (scene_.gpuPci == scene_.peerGpuPci && scene_.peerOnThisHost) {
      all.push_back(neutral(std::move(seen), "both ends are on one GPU: there is no link"));
    } else if (judged.passed == Passed::kUnclear) {
      all.push_back(unavailable(std::move(seen), judged.why));
    } else if (judged.passed == Passed::kAll) {
      overNvlink(all, std::move(seen));
    } else if (judge(wide.ifSummed, bounds).passed == Passed::kLess) {
      notOverNvlink(all, std::move(seen), judged, bounds);
    } else {
      all.push_back(unavailable(std::move(seen),
                                "all links have one value: it may be the GPU's, repeated, or each "
                                "link's share, and the payload fits the sum only"));
    }
  }

  void overNvlink(std::vector<Observation>& all, Observation seen) const {
    if (scene_.peerGpuPci.empty()) {
      all.push_back(neutral(std::move(seen), "the other side's memory is in no GPU"));
      return;
    }
    seen = concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    seen.path = PathKind::kNvlink;
    all.push_back(seen);
    seen.bearing = Bearing::kConservation;
    all.push_back(std::move(seen));
  }

  /// PCIe counters cannot save it: direct or staged, the bytes cross the GPU's PCIe port once.
  void notOverNvlink(std::vector<Observation>& all, Observation seen, const Judgement& judged,
                     const Bounds& bounds) const {
    if (scene_.peerGpuPci.empty() || !scene_.peerOnThisHost) {
      all.push_back(neutral(std::move(seen), "the other side is not a GPU of this host"));
    } else if (!joined_) {
      all.push_back(unavailable(std::move(seen),
                                "whether NVLink joins the two GPUs is unknown: " + joined_.why));
    } else if (!*joined_) {
      all.push_back(neutral(std::move(seen),
                            "no NVLink joins these two: PCIe from GPU to GPU and "
                            "through the host look alike here"));
    } else if (bounds.payload < kMissable) {
      all.push_back(neutral(std::move(seen), "too little payload to miss it on NVLink"));
    } else {
      const bool hardly = judged.bytes < bounds.payload / kShareOfFlags;
      Observation link = concluded(seen, Outcome::kStaged, Strength::kStrong);
      link.bearing = Bearing::kConservation;
      link.reason = "the payload did not pass the NVLinks that join the two GPUs";
      all.push_back(hardly ? concluded(std::move(seen), Outcome::kStaged, Strength::kStrong)
                           : neutral(std::move(seen), "a part of the payload went over NVLink"));
      if (hardly) all.back().reason = "not over NVLink";
      all.push_back(std::move(link));
    }
  }

  Scene scene_;
  std::shared_ptr<NvmlCounters> nvml_;
  nvml::Device device_ = nullptr;
  std::vector<unsigned> links_;  ///< that answer
  Known<bool> joined_;
  std::array<LinkReading, 2> before_;
  std::string why_;
};

}  // namespace

GpuWide gpuWide(const LinkReading& before, const LinkReading& after) {
  Flow flow{.name = "NVLink", .unit = kKib};
  flow.before = flow.idle = total(before);
  flow.after = total(after);
  GpuWide wide{flow, flow};
  if (sameOnAll(before) && sameOnAll(after)) {
    wide.flow.before = wide.flow.idle = (*before).front();
    wide.flow.after = (*after).front();
  }
  return wide;
}

std::unique_ptr<Witness> nvlinkBytes(const Scene& scene,
                                     Result<std::shared_ptr<NvmlCounters>> nvml) {
  return std::make_unique<NvlinkBytes>(scene, std::move(nvml));
}

}  // namespace gdrbench::witness
