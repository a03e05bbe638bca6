// SPDX-License-Identifier: Apache-2.0
#include "harness/run/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>

#include "harness/bootstrap/channel.h"
#include "harness/bootstrap/lend.h"
#include "harness/core/units.h"
#include "harness/environment/affinity.h"
#include "harness/environment/environment.h"
#include "harness/memory/memory_space.h"
#include "harness/run/block_runner.h"
#include "harness/run/build_info.h"
#include "harness/run/path_watch.h"
#include "harness/run/placement.h"
#include "harness/run/wire.h"

namespace gdrbench {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// The conductor speaks first, and soon; what comes later has the deadline of the case.
constexpr auto kGreetingTime = std::chrono::seconds(10);
constexpr unsigned kLastResortSeconds = 3;

void onStopSignal(int signal) {
  gStopSignal.store(signal, std::memory_order_relaxed);
  // A worker that is stuck inside a library never looks at the flag: SIGALRM then ends it.
  alarm(kLastResortSeconds);
}

void installStopSignals() {
  struct sigaction action {};
  action.sa_handler = onStopSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

double secondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// One side of one case, from the conductor's order to the tear-down. The members are made in the
/// order in which they are declared and go in reverse: lane, regions, endpoint, buffers, transport.
class Worker {
 public:
  Worker(const Registry& registry, Channel& channel, PhaseHook hook)
      : registry_(registry), channel_(channel), hook_(hook) {}

  [[nodiscard]] bool sharesProcess() const { return can_.oneProcess; }
  [[nodiscard]] Role role() const { return assign_.role; }
  [[nodiscard]] std::string loanName() const { return assign_.namePrefix + "loan"; }
  [[nodiscard]] TimePoint deadline() const { return deadline_; }

  /// Goes on for the other side of the same case, whose channel this is.
  void takeOverFrom(const Worker& other) {
    assign_ = other.assign_;
    assign_.role = Role::kResponder;
    adopt();
  }

  Status greet() {
    const auto deadline = steady_clock::now() + kGreetingTime;
    const wire::Hello hello{buildId(), getpid(), hostName()};
    if (Status sent = channel_.send(wire::encode(hello), deadline); !sent) return sent;
    auto order = channel_.receive(deadline);
    if (!order) return order.error();
    auto assign = wire::decodeAssign(*order, registry_);
    if (!assign) return assign.error();
    assign_ = *std::move(assign);
    adopt();
    if (digest_ == assign_.digest) return Done{};
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "agree with the conductor on the case",
                 .nativeText = fmt::format("digest {} there, {} here", assign_.digest, digest_)};
  }

  /// The case from here on; answers the exit status.
  int run() {
    Status done = work();
    return done ? 0 : fail(std::move(done).error());
  }

  int fail(Error error) {
    partial_.check = checkSoFar();
    // What asked this side to stop must not keep it from saying so.
    channel_.setStopFlag(nullptr);
    // The channel may be what broke; then the conductor sees the exit status.
    (void)channel_.send(wire::encode({phase_, std::move(error), partial_}), farewell());
    return 1;
  }

 private:
  Status work() {
    for (const auto step : {&Worker::setUp, &Worker::exchangeAddresses, &Worker::connect,
                            &Worker::measureOrServe, &Worker::close}) {
      if (Status done = (this->*step)(); !done) return done;
    }
    return Done{};
  }

  void adopt() {
    digest_ = digest(assign_.testCase, registry_);
    can_ = capabilitiesOf(assign_.testCase, registry_);
    deadline_ = steady_clock::now() + nanoseconds(assign_.testCase.timeoutNs);
    clock_.emplace(assign_.clockKind == "tsc" ? Clock::tsc(assign_.ticksPerNanosecond)
                                              : Clock::monotonic());
  }

  Status setUp() {
    if (Status sent = enter("setup"); !sent) return sent;
    const auto start = steady_clock::now();
    if (Status pinned = pin(); !pinned) return pinned;
    if (Status allocated = allocate(); !allocated) return allocated;
    if (Status beside = leaveCpu(); !beside) return beside;
    if (Status opened = openTransport(); !opened) return opened;
    // Before anything is registered: registrations are counted, too.
    watch_.emplace(assign_.testCase, assign_.role, endpoint_->claims(), assign_.peerOnThisHost);
    if (Status registered = registerBuffers(); !registered) return registered;
    partial_.setupSeconds = secondsSince(start);
    return Done{};
  }

  Status pin() {
    const Case& c = assign_.testCase;
    allowedCpus_ = allowedCpus();
    std::optional<int> initiator = c.initiatorCpu;
    std::optional<int> responder = c.responderCpu;
    const std::size_t pairs = std::size_t{c.beside} + 1;
    pairCpus_ = cpusOfPair({c.pairNumber, pairs});
    if (const auto near = cpusNear(c.source, c.destination, {c.pairNumber, pairs});
        near && !c.cpusGiven) {
      std::tie(initiator, responder) = *near;
    }
    const bool pairsShare = c.beside != 0 && 2 * pairs > allowedCpus_.size();
    sharesCore_ = pairsShare || (initiator && initiator == responder);
    ownCpu_ = isInitiator() ? initiator : responder;
    if (!ownCpu_) return Done{};
    pollingCpus_ = {initiator.value_or(*ownCpu_), responder.value_or(*ownCpu_)};
    fact("cpu", std::to_string(*ownCpu_));
    if (pairsShare) {
      partial_.notes.push_back(fmt::format("{} pairs at once share {} CPUs and yield to each other",
                                           pairs, allowedCpus_.size()));
    } else if (sharesCore_) {
      partial_.notes.emplace_back("both sides share one CPU and yield to each other");
    }
    return pinToCpu(*ownCpu_);
  }

  /// Until the lane is connected: threads that a library starts inherit the CPUs of who starts
  /// them, and would share the one that polls.
  Status leaveCpu() {
    if (!ownCpu_) return Done{};
    return runOnCpus(cpusBeside(pairCpus_, pollingCpus_));
  }

  Status returnToCpu() const { return ownCpu_ ? runOnCpus({*ownCpu_}) : Status(Done{}); }

  Status openTransport() {
    const Case& c = assign_.testCase;
    auto transport = registry_.make(c.transport, c.library);
    if (!transport) return transport.error();
    transport_ = *std::move(transport);
    if (c.path == kStagedPath) {
      transport_ = registry_.staging().make(std::move(transport_), c.staging);
    }
    const OpenRequest request{
        .role = assign_.role,
        .options = c.options,
        .lane = {.layout = plan_.layout,
                 .messageBytes = c.bytes,
                 .window = plan_.window,
                 .marks = plan_.leadIn + plan_.messages + 1,
                 .peerOnThisHost = assign_.peerOnThisHost,
                 .peerInThisProcess = can_.oneProcess},
        .memory = memory(),
        .peerMemory = peerMemory(),
        .namePrefix = assign_.namePrefix,
        .deadline = deadline_,
    };
    auto endpoint = transport_->open(request);
    if (!endpoint) return endpoint.error();
    endpoint_ = *std::move(endpoint);
    return Done{};
  }

  Status allocate() {
    plan_ = planBlocks(assign_.testCase);
    // All pairs of a group take host memory from one machine; each GPU is in one pair only.
    const bool gpu = memory().kind == MemoryKind::kCuda;
    const std::uint64_t sharers = gpu ? 1 : std::uint64_t{assign_.testCase.beside} + 1;
    const std::string& wanted = assign_.testCase.cudaMemory;
    auto space =
        openMemorySpace(memory(), {.ownBytes = footprint(plan_),
                                   .bothBytes = 2 * sharers * footprint(plan_),
                                   .peer = peerMemory(),
                                   .vmm = wanted == "vmm" || (wanted == "auto" && can_.needsVmm)});
    if (!space) return space.error();
    space_ = *std::move(space);
    auto source = space_->allocate(plan_.layout.totalBytes());
    if (!source) return source.error();
    source_.emplace(*std::move(source));
    auto target = space_->allocate(plan_.layout.totalBytes());
    if (!target) return target.error();
    target_.emplace(*std::move(target));
    if (const auto link = linkBetween(assign_.testCase.source, assign_.testCase.destination);
        link && isInitiator()) {
      fact("link", *link);
    }
    if (memory().kind == MemoryKind::kCuda) fact(report::kGpuFact, gpuOf(memory()));
    fact("memory", space_->describe());  // knows its NUMA node only once something is allocated
    return Done{};
  }

  Status registerBuffers() {
    auto sourceRegion = endpoint_->registerMemory(*source_);
    if (!sourceRegion) return sourceRegion.error();
    sourceRegion_ = *std::move(sourceRegion);
    auto targetRegion = endpoint_->registerMemory(*target_);
    if (!targetRegion) return targetRegion.error();
    targetRegion_ = *std::move(targetRegion);
    return Done{};
  }

  Status exchangeAddresses() {
    auto mine = endpoint_->address(*sourceRegion_, *targetRegion_);
    if (!mine) return mine.error();
    const wire::Address address{digest_, *std::move(mine)};
    if (Status sent = channel_.send(wire::encodeAddress(address, MessageType::kAddress), deadline_);
        !sent) {
      return sent;
    }
    auto reply = channel_.receive(deadline_);
    if (!reply) return reply.error();
    auto peer = wire::decodeAddress(*reply);
    if (!peer) return peer.error();
    peerAddress_ = std::move(peer->bytes);
    return Done{};
  }

  Status connect() {
    if (Status sent = enter("connect"); !sent) return sent;
    const auto start = steady_clock::now();
    auto lane = endpoint_->connect(peerAddress_, *sourceRegion_, *targetRegion_, deadline_);
    if (!lane) return lane.error();
    lane_ = *std::move(lane);
    if (Status back = returnToCpu(); !back) return back;
    partial_.connectSeconds = secondsSince(start);
    const wire::Ready ready{endpoint_->claims()};
    for (const Claim& claim : ready.claims) fact(claim.key, claim.value);
    if (Status sent = channel_.send(wire::encode(ready), deadline_); !sent) return sent;
    return expectMessage(MessageType::kBegin);
  }

  Status measureOrServe() {
    const Case& c = assign_.testCase;
    pattern_ = findPattern(c.pattern)->make();
    guard_.emplace(*clock_, clock_->now() + clock_->ticks(deadline_ - steady_clock::now()),
                   sharesCore_);
    blocks_.emplace(BlockRunner::Parts{c, plan_, *pattern_, can_.flow, assign_.role, assign_.seed,
                                       *space_, *source_, *target_},
                    *lane_, *clock_, *guard_);
    Status done = isInitiator() ? initiate() : serve();
    partial_.check = checkSoFar();
    if (!done) return done;
    if (auto writes = space_->cardWrites()) fact("writes_of_a_card", *std::move(writes));
    partial_.observations = watch_->end(blocks_->checked(), *endpoint_);
    if (Status tested = testFrozenPeer(); !tested) return tested;
    return channel_.send(wire::encodeResult(partial_), deadline_);
  }

  /// The initiator tells the responder, through the conductor, what comes next.
  class Blocks final : public BlockSource {
   public:
    explicit Blocks(Worker& worker) : worker_(worker) {}
    Status begin(const Chunk& chunk) override {
      if (Status sent = worker_.enter(name(chunk.phase)); !sent) return sent;
      if (chunk.phase == MeasurePhase::kMeasure) worker_.watch_->begin(worker_.blocks_->checked());
      return worker_.channel_.send(wire::encode(wire::ChunkOrder{chunk}), worker_.deadline_);
    }
    Result<Ticks> block(const Chunk& chunk, std::span<Ticks> samples) override {
      return worker_.blocks_->run(chunk.messages, chunk.leadIn, samples);
    }

   private:
    Worker& worker_;
  };

  Status initiate() {
    const Case& c = assign_.testCase;
    const bool bothWays = !pattern_->stampsMessages() && c.direction == Direction::kBi;
    const std::uint64_t ways = bothWays ? 2 : 1;
    const MeasureRequest request{.warmup = c.warmup,
                                 .stop = c.stop,
                                 .blockMessages = plan_.messages,
                                 .leadIn = plan_.leadIn,
                                 .stampsMessages = pattern_->stampsMessages(),
                                 .bytesPerMessage = c.bytes * ways,
                                 .countPerMessage = ways};
    Blocks source(*this);
    Measurement measured = measure(request, *clock_, source, c.rawSamples);
    takeOver(measured);
    if (measured.error) return *std::move(measured.error);
    if (Status sent = channel_.send(wire::encode(wire::ChunkOrder{}), deadline_); !sent)
      return sent;
    if (Status sent = enter("finish"); !sent) return sent;
    for (const ControlMessage& frame : wire::encodeSamples(measured.samplesNs)) {
      if (Status sent = channel_.send(frame, deadline_); !sent) return sent;
    }
    return Done{};
  }

  void takeOver(const Measurement& measured) {
    partial_.stopReason = measured.reason ? std::string(name(*measured.reason)) : "";
    partial_.steady = measured.steady;
    partial_.warmupMessages = measured.warmupMessages;
    partial_.warmupSeconds = measured.warmupSeconds;
    partial_.firstMessageNs = measured.firstMessageNs;
    partial_.messages = measured.messages;
    partial_.measureSeconds = measured.measureSeconds;
    partial_.timedSeconds = measured.timedSeconds;
    partial_.latency = measured.latency;
    partial_.rate = measured.rate;
    partial_.samples = measured.samplesNs.size();
  }

  Status serve() {
    while (true) {
      auto message = channel_.receive(deadline_);
      if (!message) return message.error();
      auto order = wire::decodeChunk(*message);
      if (!order) return order.error();
      if (order->chunk.blocks == 0) return enter("finish");
      if (order->chunk.messages + order->chunk.leadIn > plan_.messages + plan_.leadIn) {
        return Error{.code = ErrorCode::kProtocol,
                     .tried = "run the blocks that the initiator asked for",
                     .nativeText = "a block is longer than the plan"};
      }
      if (Status sent = enter(name(order->chunk.phase)); !sent) return sent;
      if (order->chunk.phase == MeasurePhase::kMeasure) watch_->begin(blocks_->checked());
      for (std::uint64_t i = 0; i < order->chunk.blocks; ++i) {
        Result<Ticks> served = blocks_->run(order->chunk.messages, order->chunk.leadIn, {});
        if (!served) return served.error();
      }
    }
  }

  /// In a witness pass, once everything is measured: see frozen_peer.h.
  Status testFrozenPeer() {
    const Case& c = assign_.testCase;
    if (c.watching != Watching::kAll) return Done{};
    if (auto why = notFreezable(c, can_)) {
      if (isInitiator()) partial_.observations.push_back(frozenPeerMissing(c, *std::move(why)));
      return Done{};
    }
    if (Status sent = enter("frozen peer"); !sent) return sent;
    FrozenPeer test(blocks_->parts(), *lane_);
    return isInitiator() ? probeFrozen(test) : standStill(test);
  }

  Status probeFrozen(FrozenPeer& test) {
    if (Status told = expectStep(FrozenStep::Kind::kProbe); !told) return told;
    if (Status sent = channel_.send(wire::encode(test.probe()), deadline_); !sent) return sent;
    if (Status told = expectStep(FrozenStep::Kind::kLook); !told) return told;
    test.drain();
    return Done{};
  }

  Status standStill(FrozenPeer& test) {
    if (Status ready = test.prepare(); !ready) return ready;
    // A conductor that dies now would leave this process behind, standing still: only SIGKILL ends
    // one that does.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (Status sent = channel_.send(wire::encode(FrozenStep{}), deadline_); !sent) return sent;
    if (Status told = expectStep(FrozenStep::Kind::kLook); !told) return told;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (Status sent = channel_.send(wire::encode(test.look()), deadline_); !sent) return sent;
    test.drain();
    return Done{};
  }

  Status expectStep(FrozenStep::Kind kind) {
    auto message = channel_.receive(deadline_);
    if (!message) return message.error();
    auto step = wire::decodeFrozen(*message);
    if (!step) return step.error();
    if (step->kind == kind) return Done{};
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("wait for the step '{}'", name(kind)),
                 .nativeText = fmt::format("'{}' came", name(step->kind))};
  }

  /// Results are decided before anything is torn down: what goes wrong from here on is a note.
  Status close() {
    if (Status told = expectMessage(MessageType::kClose); !told) return told;
    (void)enter("close");
    watch_.reset();
    blocks_.reset();
    lane_.reset();
    sourceRegion_.reset();
    targetRegion_.reset();
    endpoint_.reset();
    (void)channel_.send(wire::empty(MessageType::kClosed), farewell());
    return Done{};
  }

  Status expectMessage(MessageType type) {
    auto message = channel_.receive(deadline_);
    if (!message) return message.error();
    if (message->type == type) return Done{};
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("wait for '{}'", name(type)),
                 .nativeText = fmt::format("'{}' came", name(message->type))};
  }

  /// Tells the conductor once for each phase; not between the chunks of one.
  Status enter(std::string_view phase) {
    if (phase == phase_) return Done{};
    phase_ = phase;
    Status sent = channel_.send(wire::encodePhase(phase), deadline_);
    if (hook_ != nullptr) hook_(assign_.role, phase);
    return sent;
  }

  [[nodiscard]] report::DataCheck checkSoFar() const {
    report::DataCheck check;
    check.mode = can_.flow == DataFlow::kNone ? "none" : std::string(name(assign_.testCase.verify));
    if (!blocks_) return check;
    check.messages = blocks_->checked().messages;
    check.bytes = blocks_->checked().bytes;
    check.sent = blocks_->checked().received;
    return check;
  }

  void fact(std::string key, std::string value) {
    (isInitiator() ? partial_.initiator : partial_.responder)
        .emplace_back(std::move(key), std::move(value));
  }

  [[nodiscard]] bool isInitiator() const { return assign_.role == Role::kInitiator; }
  [[nodiscard]] const MemoryName& memory() const {
    return isInitiator() ? assign_.testCase.source : assign_.testCase.destination;
  }
  [[nodiscard]] const MemoryName& peerMemory() const {
    return isInitiator() ? assign_.testCase.destination : assign_.testCase.source;
  }
  static steady_clock::time_point farewell() {
    return steady_clock::now() + std::chrono::seconds(1);
  }

  const Registry& registry_;
  Channel& channel_;
  PhaseHook hook_;
  std::string phase_ = "start";
  wire::Assign assign_;
  std::string digest_;
  steady_clock::time_point deadline_;
  std::optional<Clock> clock_;
  bool sharesCore_ = false;
  std::vector<int> allowedCpus_, pollingCpus_;
  std::vector<int> pairCpus_;  ///< those allowed that no pair at the same time has
  std::optional<int> ownCpu_;
  BlockPlan plan_;
  Capabilities can_;
  report::Run partial_;

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<MemorySpace> space_;
  std::optional<Buffer> source_, target_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<MemoryRegion> sourceRegion_, targetRegion_;
  Bytes peerAddress_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Pattern> pattern_;
  std::optional<Guard> guard_;
  std::optional<BlockRunner> blocks_;
  std::optional<PathWatch> watch_;
};

/// The responder's process, when both sides run in the initiator's.
int lend(Worker& worker, Channel channel) {
  auto status = lendChannel(std::move(channel), worker.loanName(), worker.deadline());
  return status ? *status : 1;  // the conductor sees how the other process ended
}

/// The initiator's process, when both sides run in it.
int runBoth(const Registry& registry, Worker& initiator, PhaseHook hook) {
  auto loan = BorrowedChannel::await(initiator.loanName(), initiator.deadline());
  if (!loan) return initiator.fail(std::move(loan).error());
  loan->channel().setStopFlag(&gStopSignal);
  std::thread other([&] {
    Worker responder(registry, loan->channel(), hook);
    responder.takeOverFrom(initiator);
    loan->giveBack(responder.run());
  });
  const int status = initiator.run();
  other.join();
  return status;
}

}  // namespace

int runWorker(const Registry& registry, int fd, PhaseHook hook) {
  installStopSignals();
  Channel channel(fd);
  channel.setStopFlag(&gStopSignal);
  Worker worker(registry, channel, hook);
  if (Status greeted = worker.greet(); !greeted) return worker.fail(std::move(greeted).error());
  if (!worker.sharesProcess()) return worker.run();
  return worker.role() == Role::kInitiator ? runBoth(registry, worker, hook)
                                           : lend(worker, std::move(channel));
}

}  // namespace gdrbench
