// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/verbs_lane.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <thread>

#include "transports/verbs/receive_queue.h"
#include "transports/verbs/send_queue.h"
#include "transports/verbs/words.h"

namespace gdrbench::verbs {
namespace {

constexpr std::size_t kAtOnce = 32;  ///< completions read in one call
constexpr std::size_t kRefill = 16;  ///< receives posted at once while there is time
constexpr Ticket kHello = 0xffff'fff0u;
constexpr std::uint64_t kHelloBytes = 8;
constexpr const char* kPeerHint =
    "is the peer running, and is there a route between the two ports?";

/// Room for a block of receives that is announced at once.
std::size_t expectsOf(const LaneParts& parts) {
  return std::max<std::size_t>(4096, 2 * std::size_t{parts.memory.layout.count} + 64);
}

/// A flushed work request tells that another one failed, and may be told before it.
bool isFlush(int status) noexcept {
  return status == IBV_WC_WR_FLUSH_ERR;
}

}  // namespace

struct VerbsLane::Pair {
  SendQueue sends;
  ReceiveQueue receives;
};

VerbsLane::VerbsLane(LaneParts parts)
    : op_(parts.op),
      cq_(parts.cq),
      layout_(parts.memory.layout),
      watch_(parts.watch),
      completions_(kAtOnce),
      arrivals_(expectsOf(parts), parts.queuePairs.size() * parts.receiveDepth),
      refillAt_(std::clamp<std::size_t>(parts.receiveDepth / 4, 1, kRefill)),
      refillBusyAt_(std::max<std::size_t>(parts.receiveDepth / 2, 1)),
      where_(std::move(parts.where)),
      peer_(std::move(parts.peer)),
      stop_(std::move(parts.stop)) {
  pairs_.reserve(parts.queuePairs.size());
  for (ibv_qp* qp : parts.queuePairs) {
    const auto index = static_cast<std::uint8_t>(pairs_.size());
    pairs_.push_back({SendQueue({.qp = qp,
                                 .index = index,
                                 .depth = parts.sendDepth,
                                 .signalEvery = parts.signalEvery,
                                 .inlineBytes = parts.inlineBytes,
                                 .oneDoorbell = parts.oneDoorbell,
                                 .twoSided = parts.op == Op::kSend},
                                parts.memory),
                      ReceiveQueue({.qp = qp,
                                    .index = index,
                                    .depth = parts.receiveDepth,
                                    .blank = parts.op != Op::kSend},
                                   parts.memory)});
  }
  firstPair_ = sendTurn_ = expectTurn_ = pairs_.data();
  behindPairs_ = firstPair_ + pairs_.size();
}

VerbsLane::~VerbsLane() {
  if (stop_) stop_();
}

// --- hot ---------------------------------------------------------------------------------------
// `inline` is meant: in a shared library, other functions are called by way of a table.

inline void VerbsLane::advance(Pair*& turn) const noexcept {
  if (++turn == behindPairs_) turn = firstPair_;
}

inline bool VerbsLane::startExpect(const Expect& expect) noexcept {
  const bool sync = isSync(expect);
  Pair* const pair = sync ? firstPair_ : expectTurn_;
  if (op_ == Op::kSend) {
    if (!pair->receives.append(expect)) return false;
  } else if (op_ == Op::kRead && !sync) {
    if (!pair->sends.fetch(expect)) return false;
  } else {
    if (!arrivals_.expect(expect.ticket)) return false;
    if (arrivals_.hasReady()) special_ = true;
  }
  if (!sync) advance(expectTurn_);
  return true;
}

inline bool VerbsLane::startSend(const Send& send) noexcept {
  const bool sync = isSync(send);
  if (!(sync ? firstPair_ : sendTurn_)->sends.push(send)) return false;
  if (!sync) advance(sendTurn_);
  return true;
}

inline void VerbsLane::ringDoorbells(Pair& pair) noexcept {
  // Receives first: a reply may come before this call ends.
  if (pair.receives.hasChain()) {
    if (const int code = pair.receives.post(); code != 0) {
      failedCall(Failure::At::kPostReceive, code);
    }
  }
  if (pair.sends.hasChain()) {
    if (const int code = pair.sends.post(); code != 0) failedCall(Failure::At::kPostSend, code);
  }
}

Accepted VerbsLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  Accepted accepted;
  if (failed()) return accepted;
  while (accepted.expects < expects.size() && startExpect(expects[accepted.expects])) {
    ++accepted.expects;
  }
  while (accepted.sends < sends.size() && startSend(sends[accepted.sends])) ++accepted.sends;
  for (Pair* pair = firstPair_; pair != behindPairs_; ++pair) ringDoorbells(*pair);
  return accepted;
}

inline bool VerbsLane::takeArrival(const ibv_wc& completion, Pair& pair, Ticket& ticket) noexcept {
  if (op_ != Op::kSend) {
    pair.receives.used();
    ticket = ntohl(completion.imm_data);
    const bool expected = arrivals_.arrive(ticket);
    // Blank receives are posted while nothing else is to be done (see idle), which keeps them out
    // of what is timed; only a queue that is running low does not wait for that.
    if (pair.receives.missing() >= refillBusyAt_) fillReceives(refillBusyAt_);
    return expected;
  }
  const Expect& expect = pair.receives.take();
  ticket = expect.ticket;
  if (completion.byte_len == expect.bytes) return true;
  wrongLength(expect, completion.byte_len);
  return false;
}

std::size_t VerbsLane::poll(std::span<Event> events) noexcept {
  std::size_t n = 0;
  if (special_) {
    n = report(events);
    if (n == events.size() || failed()) return finish(events, n);
  }
  const int count =
      ibv_poll_cq(cq_, static_cast<int>(std::min(events.size() - n, kAtOnce)), completions_.data());
  if (count <= 0) return idle(count, events, n);
  const ibv_wc* const end = completions_.data() + count;
  for (const ibv_wc* each = completions_.data(); each != end; ++each) {
    if (each->status != IBV_WC_SUCCESS) {
      failedCompletions({each, end});
      break;
    }
    Pair& pair = firstPair_[CompletionName::index(each->wr_id)];
    // There is room: a completion becomes one event at most.
    if (!CompletionName::isReceive(each->wr_id)) {
      events[n++] = pair.sends.complete(CompletionName::number(each->wr_id));
      if (pair.sends.hasDone()) special_ = true;
    } else if (takeArrival(*each, pair, events[n].ticket)) {
      events[n++].kind = Event::Kind::kArrived;
    }
  }
  return special_ ? finish(events, n) : n;
}

// --- not so hot --------------------------------------------------------------------------------

std::size_t VerbsLane::idle(int count, std::span<Event> events, std::size_t n) noexcept {
  if (count < 0) failedCall(Failure::At::kPoll, -count);
  if (op_ != Op::kSend) fillReceives(refillAt_);
  if (const int event = watch_->event(); event != AsyncWatch::kNothing) {
    failedCall(Failure::At::kEvent, event);
  }
  return special_ ? finish(events, n) : n;
}

std::size_t VerbsLane::finish(std::span<Event> events, std::size_t n) noexcept {
  n += report(events.subspan(n));
  if (!failed()) return n;
  if (failure_.at == Failure::At::kCompletion) lookForCause();
  if (n < events.size()) events[n++] = {Event::Kind::kFailed, 0};
  return n;
}

std::size_t VerbsLane::report(std::span<Event> events) noexcept {
  std::size_t n = arrivals_.report(events);
  for (Pair& pair : pairs_) n += pair.sends.report(events.subspan(n));
  special_ = failed() || n == events.size();  // then there may be more
  return n;
}

void VerbsLane::fillReceives(std::size_t least) noexcept {
  for (Pair& pair : pairs_) {
    if (pair.receives.missing() < least) continue;
    const std::size_t count = std::min(pair.receives.missing(), arrivals_.roomForReceives());
    if (count < least) continue;
    arrivals_.receivesPosted(count);
    const int code = pair.receives.postBlank(count);
    if (code != 0) failedCall(Failure::At::kPostReceive, code);
  }
}

// --- cold --------------------------------------------------------------------------------------

void VerbsLane::fail(const Failure& failure) noexcept {
  const bool onlyFlushed = failure_.at == Failure::At::kCompletion && isFlush(failure_.code);
  if (!failed() || onlyFlushed) failure_ = failure;
  special_ = true;
}

void VerbsLane::failedCall(Failure::At at, int code) noexcept {
  fail({.at = at, .code = code});
}

/// Behind a failure only what may be its cause counts.
void VerbsLane::failedCompletions(std::span<const ibv_wc> completions) noexcept {
  for (const ibv_wc& each : completions) {
    if (each.status == IBV_WC_SUCCESS) continue;
    fail({.at = Failure::At::kCompletion,
          .code = each.status,
          .vendorError = each.vendor_err,
          .receive = CompletionName::isReceive(each.wr_id)});
  }
}

void VerbsLane::wrongLength(const Expect& expect, std::uint64_t bytes) noexcept {
  fail({.at = Failure::At::kLength,
        .receive = true,
        .ticket = expect.ticket,
        .bytes = bytes,
        .expectedBytes = expect.bytes});
}

void VerbsLane::lookForCause() noexcept {
  // The port's event may come behind the flush, by way of another thread.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (isFlush(failure_.code) && std::chrono::steady_clock::now() < until) {
    if (const int event = watch_->event(); event != AsyncWatch::kNothing) {
      return failedCall(Failure::At::kEvent, event);
    }
    const int count = ibv_poll_cq(cq_, kAtOnce, completions_.data());
    if (count < 0) return;
    failedCompletions({completions_.data(), static_cast<std::size_t>(count)});
  }
}

std::string VerbsLane::operation(bool receive) const {
  if (receive) return op_ == Op::kSend ? "a receive" : "the receive of a write with immediate";
  switch (op_) {
    case Op::kWrite:
      return "an RDMA write with immediate";
    case Op::kSend:
      return "a send";
    case Op::kRead:
      break;
  }
  return "an RDMA read";
}

Error VerbsLane::errorDetail() const {
  const auto failedCall = [&](const char* call) {
    return Error{.code = ErrorCode::kTransport,
                 .tried = fmt::format("{} on {}", call, where_),
                 .nativeCode = failure_.code,
                 .nativeText = std::generic_category().message(failure_.code),
                 .next = "look at the kernel log"};
  };
  switch (failure_.at) {
    case Failure::At::kPostSend:
      return failedCall("post a send");
    case Failure::At::kPostReceive:
      return failedCall("post a receive");
    case Failure::At::kPoll:
      return failedCall("poll the completion queue");
    case Failure::At::kEvent:
      return explainEvent(failure_.code, where_);
    case Failure::At::kLength:
      return {.code = ErrorCode::kData,
              .tried = fmt::format("receive message {} from {}", failure_.ticket, peer_),
              .nativeText = fmt::format("it has {} bytes instead of {}", failure_.bytes,
                                        failure_.expectedBytes)};
    case Failure::At::kCompletion:
    case Failure::At::kNowhere:
      break;
  }
  return explain({.status = failure_.code,
                  .vendorError = failure_.vendorError,
                  .operation = operation(failure_.receive),
                  .with = peer_});
}

Error VerbsLane::connectError(const Error& cause) const {
  Error error = cause;
  error.tried = fmt::format("connect {} with {}", where_, peer_);
  error.nativeText = fmt::format("could not {}: {}", cause.tried, cause.nativeText);
  return error;
}

Status VerbsLane::prepare() {
  const Message expected{kHello, layout_.syncSlot(), kHelloBytes};
  (void)submit({}, {&expected, 1});
  if (op_ != Op::kSend && !failed()) fillReceives(1);
  return failed() ? Status(connectError(errorDetail())) : Status(Done{});
}

Status VerbsLane::hello(Role role, Deadline deadline) {
  const Message greeting{kHello, layout_.syncSlot(), kHelloBytes};
  bool sent = false;
  bool reported = false;
  bool arrived = false;
  std::array<Event, 8> events;
  while (!arrived || !reported) {
    if (!sent && (role == Role::kInitiator || arrived)) {
      sent = submit({&greeting, 1}, {}).sends == 1;
    }
    const std::size_t count = poll(events);
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].kind == Event::Kind::kFailed) return connectError(errorDetail());
      (events[i].kind == Event::Kind::kSent ? reported : arrived) = true;
    }
    if (count != 0) continue;
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{.code = ErrorCode::kTimeout,
                   .tried = fmt::format("connect {} with {}", where_, peer_),
                   .nativeText = "no message of the peer came in time",
                   .next = kPeerHint};
    }
  }
  return Done{};
}

bool isSilence(const Error& error) {
  return error.nativeCode == IBV_WC_RETRY_EXC_ERR && error.code == ErrorCode::kPeerLost;
}

}  // namespace gdrbench::verbs
