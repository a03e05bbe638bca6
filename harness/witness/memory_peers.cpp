// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/memory_peers.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

namespace fs = std::filesystem;
using evidence::Observation;
using evidence::Outcome;
using evidence::Strength;

constexpr std::array kFiles = {"num_alloc_mrs", "num_reg_bytes"};

struct Client {
  std::string name;  ///< "nv_mem", "nv_mem_nc"
  std::array<Flow, kFiles.size()> counts;
};

class MemoryPeers final : public Witness {
 public:
  MemoryPeers(const Scene& scene, const Roots& roots)
      : scene_(scene), folder_(roots.sys / "kernel/mm/memory_peers") {
    for (const std::string& name : namesIn(folder_)) {
      Client client{.name = name, .counts = {}};
      for (std::size_t i = 0; i < kFiles.size(); ++i) {
        client.counts[i].name = fmt::format("{} {}", name, kFiles[i]);
        client.counts[i].before = client.counts[i].idle = readCount(folder_ / name / kFiles[i]);
      }
      clients_.push_back(std::move(client));
    }
  }

  [[nodiscard]] std::string_view id() const override { return "peer.registrations"; }

  void begin() override {}

  std::vector<Observation> end(const Payload&) override {
    Observation seen = blank(id(), evidence::WitnessClass::kCounter, scene_);
    seen.bytes = 0;
    seen.ifDirect = "GPU memory registered with the NIC through a peer-memory client";
    seen.ifStaged = "none: only buffers of the host are registered";
    if (scene_.gpuPci.empty()) {
      return {unavailable(std::move(seen), "this side's memory is in the host")};
    }
    if (clients_.empty()) {
      return {unavailable(std::move(seen),
                          fmt::format("no peer-memory client in {}: this kernel's RDMA core has "
                                      "none, or no module offers itself",
                                      folder_.string()))};
    }
    return bothEnds(count(std::move(seen)));
  }

 private:
  /// Strong and no more: other processes register too, and what follows is not seen.
  Observation count(Observation seen) {
    std::uint64_t regions = 0;
    std::uint64_t bytes = 0;
    std::string raw;
    for (Client& client : clients_) {
      for (std::size_t i = 0; i < kFiles.size(); ++i) {
        Flow& flow = client.counts[i];
        flow.after = readCount(folder_ / client.name / kFiles[i]);
        raw += flow.text() + "\n";
        const Judgement judged = judge(flow, {0, ~std::uint64_t{0}});
        if (judged.passed == Passed::kUnclear) return unavailable(std::move(seen), judged.why);
        (i == 0 ? regions : bytes) = plus(i == 0 ? regions : bytes, judged.bytes);
      }
    }
    seen.artefact = artefact(raw);
    seen.observed = fmt::format("{} regions of {} bytes registered as peer memory", regions, bytes);
    if (regions > 0) return concluded(std::move(seen), Outcome::kDirect, Strength::kStrong);
    return neutral(std::move(seen),
                   "none since the counting began: registered before that, by "
                   "dma-buf, or not at all");
  }

  /// What is registered is this side's memory: what it sends from and receives into.
  static std::vector<Observation> bothEnds(const Observation& seen) {
    return {of({evidence::Way::kOut, evidence::Side::kSource, 0}, seen),
            of({evidence::Way::kBack, evidence::Side::kSink, 0}, seen)};
  }

  Scene scene_;
  fs::path folder_;
  std::vector<Client> clients_;
};

}  // namespace

std::unique_ptr<Witness> memoryPeers(const Scene& scene, const Roots& roots) {
  return std::make_unique<MemoryPeers>(scene, roots);
}

}  // namespace gdrbench::witness
