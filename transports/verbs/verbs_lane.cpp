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

VerbsLane::VerbsLane(LaneParts parts)
    : op_(parts.op),
      cq_(parts.cq),
      layout_(parts.memory.layout),
      watch_(parts.watch),
      arrivals_(expectsOf(parts), parts.queuePairs.size() * parts.receiveDepth),
      refillAt_(std::clamp<std::size_t>(parts.receiveDepth / 4, 1, kRefill)),
      refillBusyAt_(std::max<std::size_t>(parts.receiveDepth / 2, 1)),
      where_(std::move(parts.where)),
      peer_(std::move(parts.peer)),
      stop_(std::move(parts.stop)) {
  pairs_.reserve(parts.queuePairs.size());
  for (ibv_qp* qp : parts.queuePairs) {
    const auto index = static_cast<std::uint8_t>(pairs_.size());
    pairs_.push_back(
        {SendQueue({.qp = qp,
                    .index = index,
                    .depth = parts.sendDepth,
                    .signalEvery = parts.signalEvery,
                    .inlineBytes = parts.inlineBytes,
                    .oneDoorbell = parts.oneDoorbell},
                   parts.memory),
         ReceiveQueue({.qp = qp, .index = index, .depth = parts.receiveDepth}, parts.memory)});
  }
}

VerbsLane::~VerbsLane() {
  if (stop_) stop_();
}

VerbsLane::Pair& VerbsLane::pairFor(const Message& message, std::size_t& turn) noexcept {
  if (pairs_.size() == 1 || isSync(message)) return pairs_.front();
  return pairs_[turn];
}

bool VerbsLane::startExpect(const Expect& expect) noexcept {
  Pair& pair = pairFor(expect, expectTurn_);
  const bool taken = fetches(expect)    ? pair.sends.append(SendQueue::Verb::kRead, expect)
                     : op_ == Op::kSend ? pair.receives.append(expect)
                                        : arrivals_.expect(expect.ticket);
  if (taken && !isSync(expect) && ++expectTurn_ == pairs_.size()) expectTurn_ = 0;
  return taken;
}

bool VerbsLane::startSend(const Send& send) noexcept {
  Pair& pair = pairFor(send, sendTurn_);
  const auto verb = op_ == Op::kSend ? SendQueue::Verb::kSend : SendQueue::Verb::kWrite;
  if (!pair.sends.append(verb, send)) return false;
  if (!isSync(send) && ++sendTurn_ == pairs_.size()) sendTurn_ = 0;
  return true;
}

Accepted VerbsLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  Accepted accepted;
  if (failed()) return accepted;
  while (accepted.expects < expects.size() && startExpect(expects[accepted.expects])) {
    ++accepted.expects;
  }
  while (accepted.sends < sends.size() && startSend(sends[accepted.sends])) ++accepted.sends;
  ringDoorbells();
  return accepted;
}

void VerbsLane::ringDoorbells() noexcept {
  for (Pair& pair : pairs_) {
    // Receives first: a reply may come before this call ends.
    if (pair.receives.hasChain()) {
      if (const int code = pair.receives.post(); code != 0) {
        fail({.at = Failure::At::kPostReceive, .code = code});
      }
    }
    if (pair.sends.hasChain()) {
      if (const int code = pair.sends.post(); code != 0) {
        fail({.at = Failure::At::kPostSend, .code = code});
      }
    }
  }
}

/// Blank receives are posted while nothing else is to be done, which keeps them out of what is
/// timed; only a queue that is running low does not wait for that.
void VerbsLane::fillReceives(bool idle) noexcept {
  if (op_ == Op::kSend) return;
  const std::size_t least = idle ? refillAt_ : refillBusyAt_;
  for (Pair& pair : pairs_) {
    if (pair.receives.missing() < least) continue;
    const int code = pair.receives.fill(least, arrivals_.roomForArrivals());
    if (code != 0) fail({.at = Failure::At::kPostReceive, .code = code});
  }
}

void VerbsLane::takeArrival(const ibv_wc& completion, Pair& pair) noexcept {
  if (op_ != Op::kSend) {
    pair.receives.used();
    return arrivals_.arrive(ntohl(completion.imm_data));
  }
  const Expect expect = pair.receives.take();
  if (completion.byte_len != expect.bytes) {
    return fail({.at = Failure::At::kLength,
                 .receive = true,
                 .ticket = expect.ticket,
                 .bytes = completion.byte_len,
                 .expectedBytes = expect.bytes});
  }
  arrivals_.arriveMatched(expect.ticket);
}

void VerbsLane::take(const ibv_wc& completion) noexcept {
  const bool receive = CompletionName::isReceive(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS) {
    return fail({.at = Failure::At::kCompletion,
                 .code = completion.status,
                 .vendorError = completion.vendor_err,
                 .receive = receive});
  }
  Pair& pair = pairs_[CompletionName::index(completion.wr_id)];
  if (receive) return takeArrival(completion, pair);
  pair.sends.completeUpTo(CompletionName::number(completion.wr_id));
}

void VerbsLane::fail(const Failure& failure) noexcept {
  const bool onlyFlushed = failure_.at == Failure::At::kCompletion && isFlush(failure_.code);
  if (!failed() || onlyFlushed) failure_ = failure;
}

void VerbsLane::lookForCause() noexcept {
  // The port's event may come behind the flush, by way of another thread.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  std::array<ibv_wc, kAtOnce> completions;
  while (isFlush(failure_.code) && std::chrono::steady_clock::now() < until) {
    if (const int event = watch_->event(); event != AsyncWatch::kNothing) {
      return fail({.at = Failure::At::kEvent, .code = event});
    }
    const int count = ibv_poll_cq(cq_, kAtOnce, completions.data());
    if (count < 0) return;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& each = completions[static_cast<std::size_t>(i)];
      if (each.status != IBV_WC_SUCCESS) take(each);
    }
  }
}

void VerbsLane::drainCompletions(std::size_t most) noexcept {
  std::array<ibv_wc, kAtOnce> completions;
  const int count = ibv_poll_cq(cq_, static_cast<int>(std::min(most, kAtOnce)), completions.data());
  if (count < 0) return fail({.at = Failure::At::kPoll, .code = -count});
  for (int i = 0; i < count; ++i) {
    const ibv_wc& each = completions[static_cast<std::size_t>(i)];
    // Behind a failure only what may be its cause counts.
    if (!failed() || each.status != IBV_WC_SUCCESS) take(each);
  }
  fillReceives(count == 0);
}

std::size_t VerbsLane::report(std::span<Event> events) noexcept {
  std::size_t n = 0;
  for (Pair& pair : pairs_) n += pair.sends.report(events.subspan(n));
  return n + arrivals_.report(events.subspan(n));
}

std::size_t VerbsLane::poll(std::span<Event> events) noexcept {
  std::size_t n = report(events);
  if (n == events.size()) return n;
  if (!failed()) {
    drainCompletions(events.size() - n);
    if (const int event = watch_->event(); event != AsyncWatch::kNothing) {
      fail({.at = Failure::At::kEvent, .code = event});
    }
    if (failure_.at == Failure::At::kCompletion) lookForCause();
    n += report(events.subspan(n));
  }
  if (failed() && n < events.size()) events[n++] = {Event::Kind::kFailed, 0};
  return n;
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
  for (Pair& pair : pairs_) {
    if (op_ == Op::kSend || failed()) continue;
    const int code = pair.receives.fill(1, pair.receives.missing());
    if (code != 0) fail({.at = Failure::At::kPostReceive, .code = code});
  }
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
