// SPDX-License-Identifier: Apache-2.0
// What the harness adds to NCCL: ping-pong through the lane against the same calls in a bare loop,
// in one process with a thread for each of two GPUs, on the same communicators' kind, interleaved
// in one run. The bar: the ratio of medians within 2 %, or 50 ns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "harness/core/clock.h"
#include "harness/cuda/allocation.h"
#include "harness/patterns/ping_pong.h"
#include "tests/bench/two_threads.h"
#include "transports/nccl/nccl_lane.h"

using namespace gdrbench;
using namespace gdrbench::nccl;

namespace {

constexpr int kSkipped = 77;
constexpr std::uint32_t kMessages = 1000;
constexpr std::uint32_t kRounds = 15;

struct Ids {
  UniqueId lane[2], bare[2];
};

class Rank {
 public:
  Rank(const Library& library, int rank, const Ids& ids, Meeting& meeting)
      : library_(library), rank_(rank), ids_(ids), meeting_(meeting) {}

  /// Medians of round trips, in nanoseconds, of each round: through the lane and bare.
  std::vector<double> laneNs, bareNs;
  std::string problem;

  void run(std::uint64_t bytes) {
    auto device = cuda::openDevice(std::to_string(rank_));
    if (!device) return give(device.error());
    device_ = *device;
    auto source = cuda::Allocation::make(device_, bytes + 4096, false);
    auto target = cuda::Allocation::make(device_, bytes + 4096, false);
    if (!source || !target) return give((source ? target : source).error());
    auto lane = makeTracks(ids_.lane);
    if (!lane) return give(lane.error());
    auto bare = makeTracks(ids_.bare);
    if (!bare) return give(bare.error());
    const SlotLayout layout{.stride = (bytes + 63) / 64 * 64, .count = 1};
    NcclLane made({.library = library_,
                   .device = device_,
                   .tracks = *std::move(lane),
                   .marks = {},
                   .graph = false,
                   .spec = {.layout = layout, .messageBytes = bytes, .window = 1},
                   .source = reinterpret_cast<std::byte*>(source->pointer()),
                   .target = reinterpret_cast<std::byte*>(target->pointer())});
    connectFirst(made, layout);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      meeting_.meet();
      viaLane(made, layout, bytes, round);
      meeting_.meet();
      viaBareLoop(*bare, *source, *target, bytes);
    }
    meeting_.meet();
  }

 private:
  void give(const Error& error) { problem = error.what(); }

  Result<std::vector<Track>> makeTracks(const UniqueId (&ids)[2]) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (const UniqueId& id : ids) {
      auto communicator = Communicator::init(library_, device_, {id, rank_, true}, deadline);
      if (!communicator) return communicator.error();
      communicators.push_back(*std::move(communicator));
    }
    if (rank_ != 0) std::swap(communicators.front(), communicators.back());
    std::vector<Track> tracks;
    for (auto& communicator : communicators) {
      auto track = Track::make(std::move(communicator), device_);
      if (!track) return track.error();
      tracks.push_back(*std::move(track));
    }
    return tracks;
  }

  /// NCCL connects at the first group, which needs both ranks in both communicators.
  static void connectFirst(NcclLane& lane, const SlotLayout& layout) {
    const Message hello{0, layout.syncSlot(), 8};
    lane.submit({&hello, 1}, {&hello, 1});
    std::array<Event, 2> events;
    for (std::size_t seen = 0; seen < 2;) seen += lane.poll(events);
  }

  void viaLane(NcclLane& lane, const SlotLayout& layout, std::uint64_t bytes, std::uint32_t round) {
    Guard guard(clock_, clock_.now() + clock_.ticks(std::chrono::seconds(60)), false);
    const Stage stage{lane, clock_, guard};
    const Block block{.layout = layout, .bytes = bytes, .messages = kMessages, .sequence = round};
    const PingPong pattern;
    if (rank_ != 0) {
      if (Status served = pattern.respond(stage, block); !served) give(served.error());
      return;
    }
    std::vector<Ticks> samples(kMessages);
    if (auto timed = pattern.initiate(stage, block, samples); !timed) return give(timed.error());
    laneNs.push_back(medianOf(samples));
  }

  /// What a person would write with the same calls: post the receive, send, poll the events.
  void viaBareLoop(std::vector<Track>& tracks, const cuda::Allocation& source,
                   const cuda::Allocation& target, std::uint64_t bytes) {
    std::vector<Ticks> samples(kMessages);
    auto events = cuda::Events::make(device_, 2, false);
    if (!events) return give(events.error());
    Communicator& out = tracks.front().communicator();
    Communicator& in = tracks.back().communicator();
    const auto sendStream = tracks.front().stream();
    const auto receiveStream = tracks.back().stream();
    const auto send = [&] {
      library_.api.send(reinterpret_cast<const void*>(source.pointer()), bytes, kUint8, out.peer(),
                        out.get(), sendStream);
      device_->cuda().eventRecord((*events)[0], sendStream);
    };
    const auto receive = [&] {
      library_.api.recv(reinterpret_cast<void*>(target.pointer()), bytes, kUint8, in.peer(),
                        in.get(), receiveStream);
      device_->cuda().eventRecord((*events)[1], receiveStream);
    };
    const auto await = [&](std::size_t which) {
      while (device_->cuda().eventQuery((*events)[which]) == cuda::kNotReady) {
      }
    };
    if (!std::exchange(bareConnected_, true)) {
      library_.api.groupStart();
      send();
      receive();
      library_.api.groupEnd();
      device_->cuda().streamSynchronize(sendStream);
      device_->cuda().streamSynchronize(receiveStream);
    }
    if (rank_ != 0) receive();
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const Ticks start = clock_.now();
      if (rank_ == 0) {
        send();
        receive();
      }
      await(1);
      samples[i] = clock_.now() - start;
      if (rank_ == 0) continue;
      send();
      if (i + 1 < kMessages) receive();
    }
    await(0);
    if (rank_ == 0) bareNs.push_back(medianOf(samples));
  }

  double medianOf(const std::vector<Ticks>& samples) const {
    std::vector<double> ns;
    for (const Ticks each : samples) ns.push_back(clock_.nanoseconds(each));
    return median(std::move(ns));
  }

  bool bareConnected_ = false;
  const Library& library_;
  int rank_;
  const Ids& ids_;
  Meeting& meeting_;
  std::shared_ptr<const cuda::Device> device_;
  Clock clock_ = Clock::monotonic();
};

int compare(const Library& library, std::uint64_t bytes) {
  Ids ids;
  for (UniqueId* id : {&ids.lane[0], &ids.lane[1], &ids.bare[0], &ids.bare[1]}) {
    library.api.uniqueId(id);
  }
  Meeting meeting;
  Rank first(library, 0, ids, meeting), second(library, 1, ids, meeting);
  std::thread other([&] { second.run(bytes); });
  first.run(bytes);
  other.join();
  for (const Rank* rank : {&first, &second}) {
    if (rank->problem.empty()) continue;
    fmt::print("failed: {}\n", rank->problem);
    return 1;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < first.laneNs.size(); ++i) {
    ratios.push_back(first.laneNs[i] / first.bareNs[i]);
  }
  std::sort(ratios.begin(), ratios.end());
  const double lane = median(first.laneNs);
  const double bare = median(first.bareNs);
  const double ratio = ratios[ratios.size() / 2];
  fmt::print("{:>10} B: lane {:.0f} ns, bare loop {:.0f} ns, ratio {:.3f} [{:.3f}, {:.3f}]\n",
             bytes, lane, bare, ratio, ratios[1], ratios[ratios.size() - 2]);
  return std::abs(ratio - 1) <= 0.02 || std::abs(lane - bare) <= 50 ? 0 : 1;
}

int run() {
  auto gpus = cuda::identities();
  auto found = library();
  if (!gpus || !found || gpus->size() < 2) {
    fmt::print("skipped: {}\n", !gpus    ? gpus.error().what()
                                : !found ? found.error().what()
                                         : "this machine has one GPU");
    return kSkipped;
  }
  int status = 0;
  for (const std::uint64_t bytes : {8u, 4096u, 1u << 20, 64u << 20}) {
    status |= compare(**found, bytes);
  }
  return status;
}

}  // namespace

int main() {
  return run();
}
