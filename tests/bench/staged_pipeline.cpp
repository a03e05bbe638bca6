// SPDX-License-Identifier: Apache-2.0
// What the staged path makes of its three stages. Interleaved in rounds, for each wire:
//   - one copy of the whole message from a GPU to pinned memory, and one from there to a GPU; with
//     two GPUs the mean of both, as half a round trip is a mean of both ways
//   - the message over the wire alone, between pinned buffers: half a round trip
//   - the message through all three, from GPU to GPU: half a round trip
// Large messages: time of the slowest stage over the time of all three.      bar: at least 0.95
// 8 bytes: time of all three less the sum of the stages.    bar, with two GPUs: at most 1 us
// The bars are for the default chunk; each line says whether its bar was met. They come first, and
// other chunks while the wire has not taken 15 s: about 20 s in all. Exits with 1 when a bar was
// missed, with 77 where there is no GPU.
//
//   staged_pipeline [WIRE...]     "tcp", "libfabric:provider=shm,op=send"; default: loopback, tcp
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/core/units.h"
#include "harness/cuda/pinned.h"
#include "harness/cuda/stream_counter.h"
#include "harness/measure/statistics.h"
#include "harness/memory/memory_space.h"
#include "harness/patterns/pattern.h"
#include "transports/registry.h"

using namespace gdrbench;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr double kLeastRatio = 0.95;
constexpr double kMostAddedNs = 1000;

using Now = std::chrono::steady_clock;

/// Rounds of one measurement: nine, or what two seconds hold, but three if six seconds hold them.
class Rounds {
 public:
  bool next() {
    const auto spent = Now::now() - start_;
    const bool more = done_ == 0 || (done_ < kMost && spent < (done_ < kFew ? 3 : 1) * kBudget);
    done_ += more ? 1 : 0;
    return more;
  }
  [[nodiscard]] int done() const { return done_; }

 private:
  static constexpr int kFew = 3, kMost = 9;
  static constexpr auto kBudget = std::chrono::seconds(2);
  Now::time_point start_ = Now::now();  // setting up counts
  int done_ = 0;
};

/// As many messages, five at most, as a tenth of a second holds where half a round trip takes this.
std::uint32_t messagesFor(double halfRoundTripNs) {
  return static_cast<std::uint32_t>(std::clamp(1e8 / (2 * halfRoundTripNs), 1.0, 5.0));
}

const char* verdict(bool met) {
  return met ? "ok" : "MISSED";
}

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().what());
  std::exit(2);
}
void must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().what());
  std::exit(2);
}

/// That this process may use. Asked once, before anything is pinned: a thread starts with the CPUs
/// of who started it, and would find only that one.
const cpu_set_t& allowedCpus() {
  static const cpu_set_t allowed = [] {
    cpu_set_t found;
    CPU_ZERO(&found);
    sched_getaffinity(0, sizeof(found), &found);
    return found;
  }();
  return allowed;
}

/// Each side on a CPU of its own, if this process may use two.
void pinSide(Role role) {
  const cpu_set_t& allowed = allowedCpus();
  int skip = role == Role::kInitiator ? 0 : 1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

/// A transport and its options.
struct Wire {
  std::string name;
  OptionSet options;
};

Wire wireOf(const Registry& registry, std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const TransportEntry* entry = registry.find(text.substr(0, colon));
  if (entry == nullptr) {
    fmt::print(stderr, "there is no transport '{}'\n", text.substr(0, colon));
    std::exit(2);
  }
  OptionSet set = OptionSet::defaults(entry->options);
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const std::size_t equals = std::min(one.find('='), one.size());
    for (const Option& option : entry->options) {
      if (option.name != one.substr(0, equals)) continue;
      set.set(option.name, {must(parseOption(option, one.substr(equals + 1)))});
    }
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return {std::string(entry->name), set};
}

struct Row {
  Wire wire;
  bool staged = false;
  std::string chunk, lowLatency;  ///< empty: the default
  MemoryName memory, peerMemory;
  std::uint64_t bytes = 0;
};

OptionSet stagingOptions(const Registry& registry, const Row& row) {
  OptionSet set = OptionSet::defaults(registry.staging().options);
  const auto setSize = [&set](const char* option, const std::string& text) {
    if (!text.empty()) set.set(option, {static_cast<std::int64_t>(must(parseSize(text)))});
  };
  setSize("chunk", row.chunk);
  setSize("low_latency", row.lowLatency);
  return set;
}

/// One end of a lane, with the buffers that it moves.
struct Side {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<MemorySpace> space;
  std::unique_ptr<Buffer> source, target;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> sourceRegion, targetRegion;
  std::unique_ptr<Lane> lane;

  Side(const Registry& registry, const Row& row, Role role, const SlotLayout& layout) {
    const bool first = role == Role::kInitiator;
    OpenRequest request{.role = role,
                        .options = row.wire.options,
                        .lane = {.layout = layout, .messageBytes = row.bytes, .window = 1},
                        .memory = first ? row.memory : row.peerMemory,
                        .peerMemory = first ? row.peerMemory : row.memory,
                        .namePrefix = fmt::format("gdrbench-bench-{}-", getpid()),
                        .deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1)};
    transport = must(registry.make(row.wire.name));
    if (row.staged) {
      transport = registry.staging().make(std::move(transport), stagingOptions(registry, row));
    }
    space = must(openMemorySpace(request.memory, {.ownBytes = 2 * layout.totalBytes(),
                                                  .bothBytes = 4 * layout.totalBytes(),
                                                  .peer = request.peerMemory}));
    source = std::make_unique<Buffer>(must(space->allocate(layout.totalBytes())));
    target = std::make_unique<Buffer>(must(space->allocate(layout.totalBytes())));
    endpoint = must(transport->open(request));
    sourceRegion = must(endpoint->registerMemory(*source));
    targetRegion = must(endpoint->registerMemory(*target));
  }

  Bytes address() { return must(endpoint->address(*sourceRegion, *targetRegion)); }
  void connect(const Bytes& peer) {
    lane = must(endpoint->connect(peer, *sourceRegion, *targetRegion,
                                  std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  }
};

/// Two connected sides, each on a thread of its own while they talk.
class Pair {
 public:
  Pair(const Registry& registry, const Row& row, const Clock& clock)
      : row_(row),
        clock_(clock),
        layout_{.stride = (row.bytes + 63) / 64 * 64, .count = 1},
        initiator_(registry, row, Role::kInitiator, layout_),
        responder_(registry, row, Role::kResponder, layout_) {
    const Bytes here = initiator_.address();
    const Bytes there = responder_.address();
    std::thread other([&] { responder_.connect(here); });
    initiator_.connect(there);
    other.join();
  }

  /// Median half round trip in nanoseconds.
  double halfRoundTrip(std::uint32_t messages, std::uint32_t leadIn) {
    const auto pingPong = findPattern("ping-pong")->make();
    const Block block{.layout = layout_,
                      .bytes = row_.bytes,
                      .messages = messages,
                      .leadIn = leadIn,
                      .sequence = sequence_++};
    const Ticks deadline = clock_.now() + clock_.ticks(std::chrono::seconds(60));
    std::vector<Ticks> samples(messages);
    std::thread other([&] {
      pinSide(Role::kResponder);
      makeCurrent(row_.peerMemory);
      Guard guard(clock_, deadline, false);
      must(pingPong->respond({*responder_.lane, clock_, guard}, block));
    });
    makeCurrent(row_.memory);
    Guard guard(clock_, deadline, false);
    must(pingPong->initiate({*initiator_.lane, clock_, guard}, block, samples));
    other.join();
    std::vector<double> halves;
    for (const Ticks sample : samples) halves.push_back(clock_.nanoseconds(sample) / 2);
    return median(halves);
  }

  /// One message with a pattern, looked at where it arrived.
  void check() {
    const SlotRun run{.layout = layout_, .count = 1, .bytes = row_.bytes};
    const DataPattern pattern(7);
    must(initiator_.space->fill(*initiator_.source, run, pattern));
    must(responder_.space->poison(*responder_.target, run, pattern));
    halfRoundTrip(1, 0);
    if (!must(responder_.space->verify(*responder_.target, run, pattern))) return;
    fmt::print(stderr, "{} over {}: bytes arrived that were not sent\n", row_.bytes,
               row_.wire.name);
    std::exit(2);
  }

 private:
  /// A lane sets its GPU's context once, on its first thread; here every block has a new one.
  static void makeCurrent(const MemoryName& memory) {
    if (memory.kind == MemoryKind::kCuda)
      must(must(cuda::openDevice(memory.device))->makeCurrent());
  }

  Row row_;
  const Clock& clock_;
  SlotLayout layout_;
  Side initiator_, responder_;
  std::uint32_t sequence_ = 0;
};

/// A copy between a GPU and pinned memory near it, by itself.
class CopyStage {
 public:
  enum class Way { kToHost, kToDevice };

  CopyStage(const MemoryName& gpu, Way way, std::uint64_t bytes, const Clock& clock)
      : way_(way),
        bytes_(bytes),
        clock_(clock),
        device_(must(cuda::openDevice(gpu.device))),
        space_(must(openMemorySpace(gpu, {.ownBytes = bytes, .bothBytes = 2 * bytes}))),
        onGpu_(must(space_->allocate(bytes))),
        pinned_(must(cuda::PinnedBuffer::allocate(device_, bytes, device_->identity().numaNode))),
        stream_(must(cuda::Stream::make(device_))),
        events_(must(cuda::Events::make(device_, 1, false))) {}

  /// Median nanoseconds until the driver says that it is done: waiting for the stream, or asking
  /// for an event.
  double time(int copies, bool byEvent = false) {
    must(device_->makeCurrent());
    std::vector<double> times;
    for (int i = 0; i < copies; ++i) {
      const Ticks start = clock_.now();
      if (!copy() || !(byEvent ? ask() : wait())) std::exit(2);
      times.push_back(clock_.nanoseconds(clock_.now() - start));
    }
    return median(times);
  }

 private:
  bool copy() {
    const auto host = cuda::pointer(pinned_.data());
    const auto gpu = cuda::pointer(onGpu_.data());
    const bool out = way_ == Way::kToHost;
    return device_->cuda().copyAsync(out ? host : gpu, out ? gpu : host, bytes_, stream_.get()) ==
           cuda::kSuccess;
  }
  bool wait() { return device_->cuda().streamSynchronize(stream_.get()) == cuda::kSuccess; }
  bool ask() {
    if (device_->cuda().eventRecord(events_[0], stream_.get()) != cuda::kSuccess) return false;
    cuda::Code code = cuda::kNotReady;
    while (code == cuda::kNotReady) code = device_->cuda().eventQuery(events_[0]);
    return code == cuda::kSuccess;
  }

  Way way_;
  std::uint64_t bytes_;
  const Clock& clock_;
  std::shared_ptr<const cuda::Device> device_;
  std::unique_ptr<MemorySpace> space_;
  Buffer onGpu_;
  cuda::PinnedBuffer pinned_;
  cuda::Stream stream_;
  cuda::Events events_;
};

/// The same copy on either GPU: the mean of their times.
class CopyStages {
 public:
  CopyStages(const MemoryName& from, const MemoryName& to, CopyStage::Way way, std::uint64_t bytes,
             const Clock& clock)
      : from_(from, way, bytes, clock), to_(to, way, bytes, clock) {}
  double time(int copies, bool byEvent = false) {
    return (from_.time(copies, byEvent) + to_.time(copies, byEvent)) / 2;
  }

 private:
  CopyStage from_, to_;
};

/// Ends the program after 20 s without it.
template <class Condition>
void spinUntil(Condition condition, const char* what) {
  constexpr std::uint64_t kLooks = 1u << 20;  // between looks at the clock: milliseconds
  const auto deadline = Now::now() + std::chrono::seconds(20);
  for (std::uint64_t looks = 1; !condition(); ++looks) {
    if (looks % kLooks != 0 || Now::now() < deadline) continue;
    fmt::print(stderr, "waited 20 s for {}\n", what);
    std::exit(2);
  }
}

/// Half a round trip of the copies alone, as the staged path makes them: one thread copies out,
/// another one in, and back, each followed by a counter and told of by a flag.
class BareRelay {
 public:
  BareRelay(const MemoryName& from, const MemoryName& to, std::uint64_t bytes, const Clock& clock)
      : clock_(clock), initiator_(from, bytes), responder_(to, bytes) {}

  double halfRoundTrip(std::uint32_t messages) {
    std::atomic<std::uint32_t> there{0}, back{0};
    std::thread other([&] {
      pinSide(Role::kResponder);
      responder_.makeCurrent();
      for (std::uint32_t i = 1; i <= messages; ++i) {
        await(there, i);
        responder_.in.copy();
        responder_.out.copy();
        back.store(i, std::memory_order_release);
      }
    });
    initiator_.makeCurrent();
    std::vector<double> halves;
    for (std::uint32_t i = 1; i <= messages; ++i) {
      const Ticks start = clock_.now();
      initiator_.out.copy();
      there.store(i, std::memory_order_release);
      await(back, i);
      initiator_.in.copy();
      halves.push_back(clock_.nanoseconds(clock_.now() - start) / 2);
    }
    other.join();
    return median(halves);
  }

 private:
  struct OneWay {
    OneWay(const std::shared_ptr<const cuda::Device>& device, bool outwards, std::uint64_t size)
        : cuda(device->cuda()),
          space(must(openMemorySpace({MemoryKind::kCuda, device->identity().uuid},
                                     {.ownBytes = size, .bothBytes = 2 * size}))),
          onGpu(must(space->allocate(size))),
          pinned(must(cuda::PinnedBuffer::allocate(device, size, device->identity().numaNode))),
          stream(must(cuda::Stream::make(device))),
          counter(must(cuda::StreamCounter::make(device, stream.get()))),
          to(cuda::pointer(outwards ? pinned.data() : onGpu.data())),
          from(cuda::pointer(outwards ? onGpu.data() : pinned.data())),
          bytes(size) {}
    void copy() {
      ++copies;
      if (cuda.copyAsync(to, from, bytes, stream.get()) != cuda::kSuccess ||
          counter.write(stream.get(), copies) != cuda::kSuccess)
        std::exit(2);
      spinUntil([&] { return counter.read() == copies; }, "a copy");
    }
    const cuda::Api& cuda;
    std::unique_ptr<MemorySpace> space;
    Buffer onGpu;
    cuda::PinnedBuffer pinned;
    cuda::Stream stream;
    cuda::StreamCounter counter;
    cuda::DevicePointer to, from;
    std::uint64_t bytes;
    std::uint32_t copies = 0;
  };
  struct End {
    End(const MemoryName& gpu, std::uint64_t bytes)
        : device(must(cuda::openDevice(gpu.device))),
          out(device, true, bytes),
          in(device, false, bytes) {}
    void makeCurrent() const { must(device->makeCurrent()); }
    std::shared_ptr<const cuda::Device> device;
    OneWay out, in;
  };
  static void await(const std::atomic<std::uint32_t>& flag, std::uint32_t value) {
    spinUntil([&] { return flag.load(std::memory_order_acquire) == value; }, "the other thread");
  }

  const Clock& clock_;
  End initiator_, responder_;
};

struct Bench {
  const Registry& registry;
  const Clock& clock;
  MemoryName from, to;  ///< two GPUs, or one twice
  [[nodiscard]] bool oneGpu() const { return from == to; }

  [[nodiscard]] CopyStages copies(CopyStage::Way way, std::uint64_t bytes) const {
    return {from, to, way, bytes, clock};
  }

  [[nodiscard]] Row alone(const Wire& wire, std::uint64_t bytes) const {
    return {.wire = wire,
            .memory = {MemoryKind::kPinned, from.device},
            .peerMemory = {MemoryKind::kPinned, to.device},
            .bytes = bytes};
  }
  [[nodiscard]] Row staged(const Wire& wire, std::uint64_t bytes,
                           const std::string& chunk = {}) const {
    return {.wire = wire,
            .staged = true,
            .chunk = chunk,
            .memory = from,
            .peerMemory = to,
            .bytes = bytes};
  }
};

/// `chunk`: empty for the default, which is the one that the bar is for.
bool large(const Bench& bench, const Wire& over, std::uint64_t bytes, const std::string& chunk) {
  Rounds rounds;
  CopyStages out = bench.copies(CopyStage::Way::kToHost, bytes);
  CopyStages in = bench.copies(CopyStage::Way::kToDevice, bytes);
  Pair wire(bench.registry, bench.alone(over, bytes), bench.clock);
  Pair whole(bench.registry, bench.staged(over, bytes, chunk), bench.clock);
  const std::uint32_t alone = messagesFor(wire.halfRoundTrip(1, 0));
  const std::uint32_t all = messagesFor(whole.halfRoundTrip(1, 0));
  std::vector<double> outs, ins, wires, wholes, ratios;
  while (rounds.next()) {
    outs.push_back(out.time(5));
    wires.push_back(wire.halfRoundTrip(alone, 0));
    wholes.push_back(whole.halfRoundTrip(all, 0));
    ins.push_back(in.time(5));
    ratios.push_back(std::max({outs.back(), wires.back(), ins.back()}) / wholes.back());
  }
  whole.check();
  const auto rate = [&](const std::vector<double>& times) {
    return formatByteRate(static_cast<double>(bytes) / median(times) * 1e9);
  };
  const bool met = median(ratios) >= kLeastRatio;
  const std::string bar =
      chunk.empty() ? fmt::format(" (bar {}: {})", kLeastRatio, verdict(met)) : std::string();
  fmt::print("{:>9} {:>8} {:>8} | {:>10} {:>10} {:>10} | {:>10} | {:.3f}, rounds: {}{}\n",
             over.name, formatSize(bytes), chunk.empty() ? "default" : chunk, rate(outs),
             rate(wires), rate(ins), rate(wholes), median(ratios), rounds.done(), bar);
  return !chunk.empty() || met;
}

/// Each round with new streams: which of them the driver hands out moves the figure. With one GPU
/// both threads share its context, and the driver's calls by themselves take longer than from one
/// thread: no overhead of the staged path, and so not judged.
bool small(const Bench& bench, const Wire& over) {
  constexpr std::uint64_t kBytes = 8;
  Row unfollowed = bench.staged(over, kBytes);
  unfollowed.lowLatency = "0";
  Rounds rounds;
  std::vector<double> outs, ins, wires, wholes, withouts, bares, added, byEvent;
  while (rounds.next()) {
    CopyStages out = bench.copies(CopyStage::Way::kToHost, kBytes);
    CopyStages in = bench.copies(CopyStage::Way::kToDevice, kBytes);
    Pair wire(bench.registry, bench.alone(over, kBytes), bench.clock);
    Pair whole(bench.registry, bench.staged(over, kBytes), bench.clock);
    Pair without(bench.registry, unfollowed, bench.clock);
    BareRelay bare(bench.from, bench.to, kBytes, bench.clock);
    outs.push_back(out.time(1000));
    ins.push_back(in.time(1000));
    wires.push_back(wire.halfRoundTrip(2000, 200));
    wholes.push_back(whole.halfRoundTrip(2000, 200));
    withouts.push_back(without.halfRoundTrip(2000, 200));
    bares.push_back(bare.halfRoundTrip(2000));
    added.push_back(wholes.back() - outs.back() - ins.back() - wires.back());
    byEvent.push_back(out.time(1000, true) + in.time(1000, true));
    whole.check();
  }
  const bool met = median(added) <= kMostAddedNs;
  const auto [least, most] = std::minmax_element(added.begin(), added.end());
  fmt::print(
      "{:>9}      8 B: out {} + wire {} + in {}; all three {}: {:+.0f} ns [{:+.0f} to {:+.0f}], "
      "rounds: {} ({})\n",
      over.name, formatDuration(median(outs)), formatDuration(median(wires)),
      formatDuration(median(ins)), formatDuration(median(wholes)), median(added), *least, *most,
      rounds.done(),
      bench.oneGpu() ? "one GPU: not judged"
                     : fmt::format("bar {:+.0f}: {}", kMostAddedNs, verdict(met)));
  fmt::print(
      "{:>9}           without the low-latency path {}; the copies between two threads {}; "
      "both, asking for an event {}\n",
      "", formatDuration(median(withouts)), formatDuration(median(bares)),
      formatDuration(median(byEvent)));
  return met || bench.oneGpu();
}

/// What has a bar, then other chunks as long as there is time.
bool measure(const Bench& bench, const std::string& name) {
  constexpr auto kEnough = std::chrono::seconds(15);
  const auto start = Now::now();
  const Wire over = wireOf(bench.registry, name);
  bool good = large(bench, over, 64 * kMiB, "");
  good &= small(bench, over);
  good &= large(bench, over, 256 * kMiB, "");
  for (const char* chunk : {"256KiB", "512KiB", "2MiB", "4MiB"}) {
    if (Now::now() - start < kEnough) {
      good &= large(bench, over, 64 * kMiB, chunk);
    } else {
      fmt::print("{:>9}   64 MiB {:>8} | left out: this wire is slow\n", over.name, chunk);
    }
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line is seen when it is there, also through a pipe
  const auto gpus = cuda::identities();
  if (!gpus) {
    fmt::print("[SKIPPED] {}\n", gpus.error().what());
    return 77;
  }
  std::vector<std::string> wires(argv + 1, argv + argc);
  if (wires.empty()) wires = {"loopback", "tcp"};
  const Registry registry = builtinTransports();
  const Clock clock = Clock::calibrate();
  pinSide(Role::kInitiator);
  const Bench bench{
      registry, clock, {MemoryKind::kCuda, "0"}, {MemoryKind::kCuda, gpus->size() > 1 ? "1" : "0"}};
  bool good = true;
  fmt::print("{:>9} {:>8} {:>8} | {:>10} {:>10} {:>10} | {:>10} | ratio\n", "wire", "bytes",
             "chunk", "GPU-host", "wire", "host-GPU", "all three");
  for (const std::string& wire : wires) good &= measure(bench, wire);
  return good ? 0 : 1;
}
