// SPDX-License-Identifier: Apache-2.0
#include "harness/run/side.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <span>
#include <utility>

#include "harness/environment/environment.h"
#include "harness/run/build_info.h"
#include "harness/run/placement.h"

namespace gdrbench {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// The conductor speaks first, and soon; what comes later has the deadline of the case.
constexpr auto kGreetingTime = std::chrono::seconds(10);

double secondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

steady_clock::time_point farewell() {
  return steady_clock::now() + std::chrono::seconds(1);
}

}  // namespace

Status Side::greet() {
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

void Side::takeOverFrom(const Side& other) {
  assign_ = other.assign_;
  assign_.role = Role::kResponder;
  adopt();
}

int Side::run() {
  Status done = work();
  return done ? 0 : fail(std::move(done).error());
}

int Side::fail(Error error) {
  partial_.check = checkSoFar();
  // What asked this side to stop must not keep it from saying so.
  channel_.setStopFlag(nullptr);
  // The channel may be what broke; then the conductor sees the exit status.
  (void)channel_.send(wire::encode({phase_, std::move(error), partial_}), farewell());
  return 1;
}

Status Side::work() {
  for (const auto step : {&Side::setUp, &Side::exchangeAddresses, &Side::connect,
                          &Side::measureOrServe, &Side::close}) {
    if (Status done = (this->*step)(); !done) return done;
  }
  return Done{};
}

void Side::adopt() {
  digest_ = digest(assign_.testCase, registry_);
  can_ = capabilitiesOf(assign_.testCase, registry_);
  deadline_ = steady_clock::now() + nanoseconds(assign_.testCase.timeoutNs);
  clock_.emplace(assign_.clockKind == "tsc" ? Clock::tsc(assign_.ticksPerNanosecond)
                                            : Clock::monotonic());
}

Status Side::setUp() {
  if (Status sent = enter("setup"); !sent) return sent;
  const auto start = steady_clock::now();
  if (Status pinned = pin(); !pinned) return pinned;
  if (Status allocated = allocate(); !allocated) return allocated;
  if (Status beside = cpus_.leave(); !beside) return beside;
  if (Status opened = openTransport(); !opened) return opened;
  // Before anything is registered: registrations are counted, too.
  watch_.emplace(assign_.testCase, assign_.role, endpoint_->claims(), assign_.peerOnThisHost);
  if (Status registered = registerBuffers(); !registered) return registered;
  partial_.setupSeconds = secondsSince(start);
  return Done{};
}

Status Side::pin() {
  Status pinned = cpus_.pin(assign_.testCase, assign_.role);
  if (cpus_.own()) fact("cpu", std::to_string(*cpus_.own()));
  if (!cpus_.sharedWhy().empty()) partial_.notes.push_back(cpus_.sharedWhy());
  return pinned;
}

Status Side::openTransport() {
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

Status Side::allocate() {
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

Status Side::registerBuffers() {
  auto sourceRegion = endpoint_->registerMemory(*source_);
  if (!sourceRegion) return sourceRegion.error();
  sourceRegion_ = *std::move(sourceRegion);
  auto targetRegion = endpoint_->registerMemory(*target_);
  if (!targetRegion) return targetRegion.error();
  targetRegion_ = *std::move(targetRegion);
  return Done{};
}

Status Side::exchangeAddresses() {
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

Status Side::connect() {
  if (Status sent = enter("connect"); !sent) return sent;
  const auto start = steady_clock::now();
  auto lane = endpoint_->connect(peerAddress_, *sourceRegion_, *targetRegion_, deadline_);
  if (!lane) return lane.error();
  lane_ = *std::move(lane);
  if (Status back = cpus_.comeBack(); !back) return back;
  partial_.connectSeconds = secondsSince(start);
  const wire::Ready ready{endpoint_->claims()};
  for (const Claim& claim : ready.claims) fact(claim.key, claim.value);
  if (Status sent = channel_.send(wire::encode(ready), deadline_); !sent) return sent;
  return expectMessage(MessageType::kBegin);
}

Status Side::measureOrServe() {
  const Case& c = assign_.testCase;
  pattern_ = findPattern(c.pattern)->make();
  guard_.emplace(*clock_, clock_->now() + clock_->ticks(deadline_ - steady_clock::now()),
                 cpus_.shared());
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
class Side::Blocks final : public BlockSource {
 public:
  explicit Blocks(Side& side) : side_(side) {}
  Status begin(const Chunk& chunk) override {
    if (Status sent = side_.enter(name(chunk.phase)); !sent) return sent;
    if (chunk.phase == MeasurePhase::kMeasure) side_.watch_->begin(side_.blocks_->checked());
    return side_.channel_.send(wire::encode(wire::ChunkOrder{chunk}), side_.deadline_);
  }
  Result<Ticks> block(const Chunk& chunk, std::span<Ticks> samples) override {
    return side_.blocks_->run(chunk.messages, chunk.leadIn, samples);
  }

 private:
  Side& side_;
};

Status Side::initiate() {
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
  if (Status sent = channel_.send(wire::encode(wire::ChunkOrder{}), deadline_); !sent) return sent;
  if (Status sent = enter("finish"); !sent) return sent;
  for (const ControlMessage& frame : wire::encodeSamples(measured.samplesNs)) {
    if (Status sent = channel_.send(frame, deadline_); !sent) return sent;
  }
  return Done{};
}

void Side::takeOver(const Measurement& measured) {
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

Status Side::serve() {
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
Status Side::testFrozenPeer() {
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

Status Side::probeFrozen(FrozenPeer& test) {
  if (Status told = expectStep(FrozenStep::Kind::kProbe); !told) return told;
  if (Status sent = channel_.send(wire::encode(test.probe()), deadline_); !sent) return sent;
  if (Status told = expectStep(FrozenStep::Kind::kLook); !told) return told;
  test.drain();
  return Done{};
}

Status Side::standStill(FrozenPeer& test) {
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

Status Side::expectStep(FrozenStep::Kind kind) {
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
Status Side::close() {
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

Status Side::expectMessage(MessageType type) {
  auto message = channel_.receive(deadline_);
  if (!message) return message.error();
  if (message->type == type) return Done{};
  return Error{.code = ErrorCode::kProtocol,
               .tried = fmt::format("wait for '{}'", name(type)),
               .nativeText = fmt::format("'{}' came", name(message->type))};
}

/// Tells the conductor once for each phase; not between the chunks of one.
Status Side::enter(std::string_view phase) {
  if (phase == phase_) return Done{};
  phase_ = phase;
  Status sent = channel_.send(wire::encodePhase(phase), deadline_);
  if (hook_ != nullptr) hook_(assign_.role, phase);
  return sent;
}

report::DataCheck Side::checkSoFar() const {
  report::DataCheck check;
  check.mode = can_.flow == DataFlow::kNone ? "none" : std::string(name(assign_.testCase.verify));
  if (!blocks_) return check;
  check.messages = blocks_->checked().messages;
  check.bytes = blocks_->checked().bytes;
  check.sent = blocks_->checked().received;
  return check;
}

void Side::fact(std::string key, std::string value) {
  (isInitiator() ? partial_.initiator : partial_.responder)
      .emplace_back(std::move(key), std::move(value));
}

const MemoryName& Side::memory() const {
  return isInitiator() ? assign_.testCase.source : assign_.testCase.destination;
}
const MemoryName& Side::peerMemory() const {
  return isInitiator() ? assign_.testCase.destination : assign_.testCase.source;
}

}  // namespace gdrbench
