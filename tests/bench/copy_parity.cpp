// SPDX-License-Identifier: Apache-2.0
// What the harness adds to copies between two GPUs, or within one where there is one only: streams
// through the lane against a bare loop of cuMemcpyPeerAsync (cuMemcpyAsync within one) with the
// same sizes, window and buffers, interleaved in one run. The bar: at least 0.99 of the bare loop's
// rate from 16 MiB on. Below, the figures are printed and not judged: the bare loop has no receiver
// that must be told.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/units.h"
#include "harness/cuda/allocation.h"
#include "harness/patterns/stream.h"
#include "tests/bench/two_threads.h"
#include "transports/cuda_copy/cuda_copy_transport.h"

using namespace gdrbench;

namespace {

constexpr int kSkipped = 77;
constexpr int kRounds = 15;
constexpr std::uint32_t kWindow = 8;
constexpr std::uint64_t kJudgedFrom = 16u << 20;
constexpr double kBar = 0.99;

/// What the two threads share.
struct Pair {
  std::size_t gpus = 2;  ///< of one, both sides have it
  Meeting meeting;
  Bytes address[2];
  std::atomic<bool> connected[2] = {};
  cuda::DevicePointer target = 0;  ///< of the responder
  cuda::Context context = nullptr;
};

class Side {
 public:
  Side(Pair& pair, Role role, std::uint64_t bytes)
      : pair_(pair), role_(role), bytes_(bytes), messages_(messagesOf(bytes, pair.gpus)) {}

  std::vector<double> laneRate, bareRate;  ///< bytes a second, of each round
  std::string problem;

  void run() {
    const Status ready = setUp();
    if (!ready) problem = ready.error().what();
    pair_.meeting.meet();
    if (!connect()) return;
    for (int round = 0; round < kRounds; ++round) {
      pair_.meeting.meet();
      viaLane(static_cast<std::uint32_t>(round));
      pair_.meeting.meet();
      if (role_ == Role::kInitiator) viaBareLoop();
    }
    pair_.meeting.meet();
  }

 private:
  /// Some 30 ms or more at the rate of NVLink, or of a GPU's own memory; a window several times.
  static std::uint32_t messagesOf(std::uint64_t bytes, std::size_t gpus) {
    const std::uint64_t many = (std::uint64_t{gpus > 1 ? 16u : 64u} << 30) / bytes;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(many, 4 * kWindow, 20000));
  }

  [[nodiscard]] std::size_t index() const { return role_ == Role::kInitiator ? 0 : 1; }
  [[nodiscard]] MemoryName memory(std::size_t of) const {
    return {MemoryKind::kCuda, std::to_string(pair_.gpus > 1 ? of : 0)};
  }
  [[nodiscard]] SlotLayout layout() const {
    return {.stride = (bytes_ + 63) / 64 * 64, .count = kWindow};
  }

  Status setUp() {
    auto device = cuda::openDevice(memory(index()).device);
    if (!device) return device.error();
    device_ = *device;
    for (auto* buffer : {&source_, &target_}) {
      auto made = cuda::Allocation::make(device_, layout().totalBytes(), false);
      if (!made) return made.error();
      *buffer = std::make_unique<cuda::Allocation>(*std::move(made));
    }
    if (Status opened = open(); !opened) return opened;
    auto address = endpoint_->address(*sourceRegion_, *targetRegion_);
    if (!address) return address.error();
    pair_.address[index()] = *std::move(address);
    if (role_ == Role::kResponder) {
      pair_.target = target_->pointer();
      pair_.context = device_->context();
    }
    return Done{};
  }

  Status open() {
    OpenRequest request{.role = role_,
                        .options = OptionSet::defaults(cuda_copy::options()),
                        .lane = {.layout = layout(),
                                 .messageBytes = bytes_,
                                 .window = kWindow,
                                 .peerInThisProcess = true},
                        .memory = memory(index()),
                        .peerMemory = memory(1 - index())};
    auto endpoint = transport_->open(request);
    if (!endpoint) return endpoint.error();
    endpoint_ = *std::move(endpoint);
    for (auto [buffer, region] :
         {std::pair(source_.get(), &sourceRegion_), std::pair(target_.get(), &targetRegion_)}) {
      const Buffer view(reinterpret_cast<std::byte*>(buffer->pointer()), buffer->bytes(),
                        memory(index()), -1, {});
      auto made = endpoint_->registerMemory(view);
      if (!made) return made.error();
      *region = *std::move(made);
    }
    return Done{};
  }

  /// Without the other's address there is nothing to wait for.
  bool connect() {
    if (!problem.empty() || pair_.address[1 - index()].empty()) return false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    auto lane =
        endpoint_->connect(pair_.address[1 - index()], *sourceRegion_, *targetRegion_, deadline);
    pair_.connected[index()] = lane.ok();
    if (lane.ok()) {
      lane_ = *std::move(lane);
    } else {
      problem = lane.error().what();
    }
    pair_.meeting.meet();
    return pair_.connected[0] && pair_.connected[1];
  }

  void viaLane(std::uint32_t round) {
    Guard guard(clock_, clock_.now() + clock_.ticks(std::chrono::seconds(60)), false);
    const Stage stage{*lane_, clock_, guard};
    const Block block{.layout = layout(),
                      .bytes = bytes_,
                      .messages = messages_,
                      .window = kWindow,
                      .sequence = round};
    const Stream pattern;
    if (role_ == Role::kResponder) {
      if (Status served = pattern.respond(stage, block); !served) problem = served.error().what();
      return;
    }
    auto ticks = pattern.initiate(stage, block, {});
    if (!ticks) problem = ticks.error().what();
    laneRate.push_back(ticks ? rate(*ticks) : 0);
  }

  /// What a person would write: a window of copies, each with an event, and the oldest awaited.
  void viaBareLoop() {
    auto stream = cuda::Stream::make(device_);
    auto events = cuda::Events::make(device_, kWindow, false);
    if (!stream || !events) {
      problem = (!stream ? stream.error() : events.error()).what();
      return;
    }
    const cuda::Api& cuda = device_->cuda();
    const auto await = [&](std::uint32_t message) {
      while (cuda.eventQuery((*events)[message % kWindow]) == cuda::kNotReady) {
      }
    };
    const Ticks start = clock_.now();
    for (std::uint32_t i = 0; i < messages_; ++i) {
      if (i >= kWindow) await(i);
      const std::uint64_t offset = layout().offsetOf(i % kWindow);
      const cuda::DevicePointer to = pair_.target + offset, from = source_->pointer() + offset;
      if (pair_.gpus > 1) {
        cuda.copyPeerAsync(to, pair_.context, from, device_->context(), bytes_, stream->get());
      } else {
        cuda.copyAsync(to, from, bytes_, stream->get());
      }
      cuda.eventRecord((*events)[i % kWindow], stream->get());
    }
    for (std::uint32_t i = messages_ - kWindow; i < messages_; ++i) await(i);
    bareRate.push_back(rate(clock_.now() - start));
  }

  [[nodiscard]] double rate(Ticks ticks) const {
    return static_cast<double>(bytes_) * messages_ / clock_.nanoseconds(ticks) * 1e9;
  }

  Pair& pair_;
  Role role_;
  std::uint64_t bytes_;
  std::uint32_t messages_;
  Clock clock_ = Clock::monotonic();
  std::shared_ptr<const cuda::Device> device_;
  std::unique_ptr<cuda::Allocation> source_, target_;
  std::unique_ptr<Transport> transport_ = cuda_copy::make();
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<MemoryRegion> sourceRegion_, targetRegion_;
  std::unique_ptr<Lane> lane_;
};

int compare(std::uint64_t bytes, std::size_t gpus) {
  Pair pair;
  pair.gpus = gpus;
  Side initiator(pair, Role::kInitiator, bytes), responder(pair, Role::kResponder, bytes);
  std::thread other([&] { responder.run(); });
  initiator.run();
  other.join();
  for (const Side* side : {&initiator, &responder}) {
    if (side->problem.empty()) continue;
    fmt::print("failed: {}\n", side->problem);
    return 1;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < initiator.laneRate.size(); ++i) {
    ratios.push_back(initiator.laneRate[i] / initiator.bareRate[i]);
  }
  std::sort(ratios.begin(), ratios.end());
  const double ratio = ratios[ratios.size() / 2];
  const bool judged = bytes >= kJudgedFrom;
  fmt::print("{:>8}: lane {:.2f} GB/s, bare loop {:.2f} GB/s, ratio {:.4f} [{:.4f}, {:.4f}]{}\n",
             formatSize(bytes), median(initiator.laneRate) / 1e9, median(initiator.bareRate) / 1e9,
             ratio, ratios[1], ratios[ratios.size() - 2], judged ? "" : " (not judged)");
  return !judged || ratio >= kBar ? 0 : 1;
}

int run() {
  const auto gpus = cuda::identities();
  if (!gpus || gpus->empty()) {
    fmt::print("skipped: {}\n", gpus ? "this machine has no GPU" : gpus.error().what());
    return kSkipped;
  }
  if (gpus->size() == 1) fmt::print("one GPU: both sides are on it\n");
  int status = 0;
  for (const std::uint64_t bytes :
       {std::uint64_t{8}, std::uint64_t{64} << 10, std::uint64_t{1} << 20, std::uint64_t{16} << 20,
        std::uint64_t{256} << 20}) {
    status |= compare(bytes, gpus->size());
  }
  return status;
}

}  // namespace

int main() {
  return run();
}
