// SPDX-License-Identifier: Apache-2.0
// The harness's own copies need no marks: between the first and the last message it fills and
// checks GPU memory by kernels, and copies eight bytes of answer for each block
// (cuda/data_kernels.cpp).
#include "harness/witness/copy_records.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "harness/witness/copy_log.h"
#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

using evidence::Observation;
using evidence::Outcome;
using evidence::PathKind;
using evidence::Side;
using evidence::Strength;
using evidence::Way;

class CopyRecords final : public Witness {
 public:
  CopyRecords(const Scene& scene, std::function<Result<SymbolLookup>()> open)
      : scene_(scene), open_(std::move(open)) {}

  [[nodiscard]] std::string_view id() const override { return "copy.records"; }

  void begin() override {
    why_ = scene_.gpuPci.empty() ? "this side's memory is in the host" : started();
  }

  std::vector<Observation> end(const Payload& payload) override {
    const Observation base = described();
    if (!why_.empty()) return {unavailable(base, why_)};
    const auto sums = log_->stop();
    log_.reset();
    if (!sums) return {unavailable(base, sums.error().what())};
    const auto ways = passages(payload);
    if (ways.empty()) return {unavailable(base, "no payload went either way")};
    std::vector<Observation> all;
    for (const Passage& passage : ways) {
      all.push_back(see(of(passage, base), passage, *sums));
      if (ways.size() == 1) farEnd(all, base, passage, *sums);
    }
    return all;
  }

 private:
  /// Empty, or why nothing is recorded.
  std::string started() {
    const auto lookup = open_();
    if (!lookup) return lookup.error().what();
    const auto cupti = cupti::Api::load(*lookup);
    if (!cupti) return cupti.error().what();
    log_.emplace(*cupti);
    const Status running = log_->start();
    return running ? "" : running.error().what();
  }

  [[nodiscard]] Observation described() const {
    Observation seen = blank(id(), evidence::WitnessClass::kWork, scene_);
    seen.ifDirect = "no copies, or copies from device to device for the payload";
    seen.ifStaged = "with copy engines: copies from device to host or back for the payload";
    return seen;
  }

  /// A copy to the host is no detour where the other side's memory is in this host.
  [[nodiscard]] bool hostIsTheGoal() const {
    return scene_.peerGpuPci.empty() && scene_.peerOnThisHost;
  }
  [[nodiscard]] bool sameGpu() const {
    return scene_.peerOnThisHost && scene_.gpuPci == scene_.peerGpuPci;
  }

  static bool half(std::uint64_t copied, const Passage& passage) {
    return copied >= passage.bytes - passage.bytes / 2;
  }

  [[nodiscard]] Observation staged(Observation seen, const char* kind, std::uint64_t bytes,
                                   const Passage& passage) const {
    seen.observed = fmt::format("{} bytes copied {} for {} of payload", bytes, kind, passage.bytes);
    if (hostIsTheGoal()) {
      return neutral(std::move(seen),
                     "the other side's memory is in this host: the copy may be the way itself");
    }
    return concluded(std::move(seen), Outcome::kStaged, Strength::kDecisive);
  }

  [[nodiscard]] Observation see(Observation seen, const Passage& passage,
                                const CopySums& sums) const {
    seen.artefact = artefact(sums.text());
    const std::uint64_t host = passage.out() ? sums.deviceToHost : sums.hostToDevice;
    if (sums.strange > 0) {
      return unavailable(std::move(seen),
                         fmt::format("{} records of a shape that is not known", sums.strange));
    }
    // What was dropped can only add to it.
    if (half(host, passage)) {
      return staged(std::move(seen), passage.out() ? "to the host" : "from the host", host,
                    passage);
    }
    if (sums.dropped > 0) {
      return unavailable(std::move(seen), fmt::format("{} records were lost", sums.dropped));
    }
    seen.observed = sums.text();
    // Both ways together: a copy between devices does not say whose payload it was.
    if (half(sums.betweenDevices, passage)) {
      seen.side = Side::kBoth;  // read from the one and written to the other
      seen.reason =
          "copied from device to device; whether by a link of theirs or by the driver "
          "through the host, the counters of NVLink tell";
      return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    }
    if (half(sums.withinDevice, passage)) return within(std::move(seen));
    return neutral(std::move(seen),
                   "no copy engine moved the payload: kernels, the CPU or a NIC "
                   "may have, and each of these may have staged it");
  }

  [[nodiscard]] Observation within(Observation seen) const {
    if (sameGpu()) {
      seen.path = PathKind::kSameGpu;
      seen.side = Side::kBoth;  // whoever copies: out of the one end's memory, into the other's
      return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    }
    seen.path = PathKind::kGpuStaged;
    return neutral(std::move(seen),
                   "copied within the GPU, to or from a buffer of a library; the "
                   "way from there is not seen");
  }

  /// Where payload goes one way only, the copies of the other direction are a second leg that this
  /// process does for the other end: from the host into the peer's GPU.
  void farEnd(std::vector<Observation>& all, const Observation& base, const Passage& passage,
              const CopySums& sums) const {
    const std::uint64_t host = passage.out() ? sums.hostToDevice : sums.deviceToHost;
    if (sums.strange > 0 || !half(host, passage)) return;
    Observation seen = of(passage, base);
    seen.side = passage.out() ? Side::kSink : Side::kSource;
    seen.artefact = artefact(sums.text());
    all.push_back(
        staged(std::move(seen), passage.out() ? "from the host" : "to the host", host, passage));
  }

  Scene scene_;
  std::function<Result<SymbolLookup>()> open_;
  std::optional<CopyLog> log_;
  std::string why_;
};

}  // namespace

std::unique_ptr<Witness> copyRecords(const Scene& scene,
                                     std::function<Result<SymbolLookup>()> open) {
  return std::make_unique<CopyRecords>(scene, std::move(open));
}

}  // namespace gdrbench::witness
