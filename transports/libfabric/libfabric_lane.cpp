// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/libfabric_lane.h"

#include <fmt/format.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace gdrbench::libfabric {
namespace {

constexpr std::size_t kAtOnce = 32;  ///< completions read in one call
constexpr Ticket kHello = 0xffff'fff0u;
constexpr std::uint64_t kHelloBytes = 8;
constexpr const char* kPeerHint = "is the peer running, and reachable on this address?";

std::size_t contextsFor(const fi_info& info) {
  return info.tx_attr->size + info.rx_attr->size + 16;
}

std::size_t writesInFlight(const SlotLayout& layout) {
  return std::max<std::size_t>(4096, 2 * std::size_t{layout.count} + 64);
}

}  // namespace

LibfabricLane::LibfabricLane(LaneParts parts)
    : objects_(parts.objects),
      ep_(parts.objects.ep.get()),
      cq_(parts.objects.cq.get()),
      source_(parts.source),
      target_(parts.target),
      sourceDescriptor_(parts.source.descriptor()),
      targetDescriptor_(parts.target.descriptor()),
      layout_(parts.layout),
      peer_(std::move(parts.peer)),
      op_(parts.op),
      injectBytes_(parts.injectBytes),
      wantsDataReceives_(parts.op == Op::kWrite &&
                         (parts.objects.info->rx_attr->mode & FI_RX_CQ_DATA) != 0),
      transmitDepth_(parts.objects.info->tx_attr->size),
      receiveDepth_(parts.objects.info->rx_attr->size),
      sent_(std::max<std::size_t>(1024, parts.objects.info->tx_attr->size)),
      expected_(writesInFlight(parts.layout)),
      early_(writesInFlight(parts.layout)),
      arrived_(writesInFlight(parts.layout)),
      payload_(std::move(parts.payload)) {
  auto contexts = std::make_shared<std::vector<Context>>(contextsFor(*parts.objects.info));
  firstContext_ = contexts->data();
  endOfContexts_ = firstContext_ + contexts->size();
  free_.reserve(contexts->size());
  for (Context& context : *contexts) free_.push_back(&context);
  objects_.borrowed.push_back(std::move(contexts));
  if (wantsDataReceives_) dataReceivesOwed_ = std::min<std::size_t>(receiveDepth_, 512);
}

/// Receives may still be posted in memory that is given back next: the endpoint goes first. Not
/// where regions are bound to it, for those must go before.
LibfabricLane::~LibfabricLane() {
  settle();
  if ((objects_.info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) objects_.ep.reset();
}

/// Messages of the layers' own may still be on their way. ofi_rxm handles those that have come when
/// it has closed the connections that they are about, and crashes (ofiwg/libfabric#11828).
void LibfabricLane::settle() noexcept {
  constexpr auto kLong = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + kLong;
  std::array<fi_cq_data_entry, kAtOnce> entries;
  while (!failed_ && std::chrono::steady_clock::now() < end) {
    const ssize_t got = fi_cq_read(cq_, entries.data(), entries.size());
    if (got < 0 && got != -FI_EAGAIN) return;
  }
}

LibfabricLane::Context* LibfabricLane::take(Kind kind, Ticket ticket,
                                            std::uint64_t bytes) noexcept {
  const std::size_t depth = receives(kind) ? receiveDepth_ : transmitDepth_;
  if (free_.empty() || countOf(kind) >= depth) return nullptr;
  ++countOf(kind);
  Context* context = free_.back();
  free_.pop_back();
  context->ticket = ticket;
  context->kind = kind;
  context->bytes = bytes;
  return context;
}

bool LibfabricLane::started(ssize_t code, Context* context, const char* what) noexcept {
  if (code == 0) return true;
  if (context != nullptr) give(context);
  if (code != -FI_EAGAIN) noteFailure(code, what);
  return false;
}

void LibfabricLane::noteFailure(ssize_t code, const char* what) noexcept {
  if (failed_) return;
  failed_ = true;
  failedAt_ = what;
  failure_ = code;
}

bool LibfabricLane::startSend(const Send& send) noexcept {
  const std::byte* from = source_.data() + layout_.offsetOf(send.slot);
  const bool write = oneSided(send.slot);
  const std::uint64_t to = peer_.target + layout_.offsetOf(send.slot);
  if (send.bytes <= injectBytes_) {
    if (sent_.full()) return false;
    const ssize_t code = write ? fi_inject_writedata(ep_, from, send.bytes, send.ticket,
                                                     peer_.address, to, peer_.targetKey)
                               : fi_inject(ep_, from, send.bytes, peer_.address);
    if (!started(code, nullptr, write ? "fi_inject_writedata" : "fi_inject")) return false;
    sent_.push(send.ticket);
    return true;
  }
  Context* context = take(Kind::kSend, send.ticket, send.bytes);
  if (context == nullptr) return false;
  const ssize_t code =
      write ? fi_writedata(ep_, from, send.bytes, sourceDescriptor_, send.ticket, peer_.address, to,
                           peer_.targetKey, context)
            : fi_send(ep_, from, send.bytes, sourceDescriptor_, peer_.address, context);
  return started(code, context, write ? "fi_writedata" : "fi_send");
}

bool LibfabricLane::startExpect(const Expect& expect) noexcept {
  std::byte* into = target_.data() + layout_.offsetOf(expect.slot);
  if (op_ == Op::kWrite) return awaitWrite(expect.ticket);
  const bool fetch = oneSided(expect.slot);
  Context* context = take(fetch ? Kind::kFetch : Kind::kReceive, expect.ticket, expect.bytes);
  if (context == nullptr) return false;
  const ssize_t code =
      fetch ? fi_read(ep_, into, expect.bytes, targetDescriptor_, peer_.address,
                      peer_.source + layout_.offsetOf(expect.slot), peer_.sourceKey, context)
            : fi_recv(ep_, into, expect.bytes, targetDescriptor_, peer_.address, context);
  return started(code, context, fetch ? "fi_read" : "fi_recv");
}

/// The peer's write needs nothing from this side but that its arrival be told, and told by name:
/// some networks deliver out of order.
bool LibfabricLane::awaitWrite(Ticket ticket) noexcept {
  if (expected_.full() || arrived_.full()) return false;
  (!early_.empty() && early_.remove(ticket) ? arrived_ : expected_).push(ticket);
  return true;
}

Accepted LibfabricLane::submit(std::span<const Send> sends,
                               std::span<const Expect> expects) noexcept {
  Accepted accepted;
  if (failed_) return accepted;
  // Receives first: a reply may come before this call ends.
  while (accepted.expects < expects.size() && startExpect(expects[accepted.expects])) {
    payload_->back += expects[accepted.expects++].bytes;
  }
  while (accepted.sends < sends.size() && startSend(sends[accepted.sends])) {
    payload_->out += sends[accepted.sends++].bytes;
  }
  return accepted;
}

bool LibfabricLane::postDataReceives() noexcept {
  while (dataReceivesOwed_ != 0) {
    Context* context = take(Kind::kData, 0, 0);
    if (context == nullptr) return true;
    if (!started(fi_recv(ep_, nullptr, 0, nullptr, FI_ADDR_UNSPEC, context), context, "fi_recv")) {
      return !failed_;
    }
    --dataReceivesOwed_;
  }
  return true;
}

/// What is known without asking the provider: injected sends, and arrivals whose expect has come.
std::size_t LibfabricLane::drainPending(std::span<Event> events) noexcept {
  std::size_t n = 0;
  while (n < events.size() && !sent_.empty()) events[n++] = {Event::Kind::kSent, sent_.pop()};
  while (n < events.size() && !arrived_.empty()) {
    events[n++] = {Event::Kind::kArrived, arrived_.pop()};
  }
  return n;
}

bool LibfabricLane::translate(const fi_cq_data_entry& entry, Event& event) noexcept {
  // Not by FI_REMOTE_CQ_DATA: sockets sets it on the completions of the writer too.
  if (!isOwn(entry.op_context)) return translateArrival(static_cast<Ticket>(entry.data), event);
  auto* context = static_cast<Context*>(entry.op_context);
  const Context done = *context;
  give(context);
  if (done.kind == Kind::kData) {
    ++dataReceivesOwed_;
    return translateArrival(static_cast<Ticket>(entry.data), event);
  }
  if (done.kind == Kind::kReceive && entry.len != done.bytes) {
    noteFailure(-FI_ETRUNC, "receive a message of the length that was expected");
    event = {Event::Kind::kFailed, done.ticket};
    return true;
  }
  event = {done.kind == Kind::kSend ? Event::Kind::kSent : Event::Kind::kArrived, done.ticket};
  return true;
}

bool LibfabricLane::translateArrival(Ticket ticket, Event& event) noexcept {
  if (!expected_.remove(ticket)) {
    early_.push(ticket);
    return false;
  }
  event = {Event::Kind::kArrived, ticket};
  return true;
}

std::size_t LibfabricLane::poll(std::span<Event> events) noexcept {
  if (events.empty()) return 0;
  std::size_t n = drainPending(events);
  const std::size_t most = std::min({events.size() - n, kAtOnce, early_.room()});
  if (most != 0 && !failed_) {
    std::array<fi_cq_data_entry, kAtOnce> entries;
    const ssize_t got = fi_cq_read(cq_, entries.data(), most);
    if (got > 0) {
      for (ssize_t i = 0; i < got; ++i) {
        if (translate(entries[static_cast<std::size_t>(i)], events[n])) ++n;
      }
      if (wantsDataReceives_) postDataReceives();
    } else if (got == -FI_EAVAIL) {
      noteCqError();
    } else if (got != -FI_EAGAIN) {
      noteFailure(got, "fi_cq_read");
    }
  }
  if (failed_ && n < events.size()) events[n++] = {Event::Kind::kFailed, 0};
  return n;
}

void LibfabricLane::noteCqError() noexcept {
  if (failed_) return;
  cqError_ = {};
  const ssize_t got = fi_cq_readerr(cq_, &cqError_, 0);
  if (got < 0) return noteFailure(got, "fi_cq_readerr");
  fromCq_ = true;
  const char* text =
      fi_cq_strerror(cq_, cqError_.prov_errno, cqError_.err_data, cqText_.data(), cqText_.size());
  if (text != nullptr && text != cqText_.data()) {
    std::strncpy(cqText_.data(), text, cqText_.size() - 1);
  }
  const char* what = "complete an operation";
  if (isOwn(cqError_.op_context)) {
    const auto* context = static_cast<const Context*>(cqError_.op_context);
    what = context->kind == Kind::kSend      ? "complete a send"
           : context->kind == Kind::kReceive ? "complete a receive"
           : context->kind == Kind::kFetch   ? "complete a read"
                                             : "complete a receive for CQ data";
  }
  noteFailure(-cqError_.err, what);
}

Error LibfabricLane::errorDetail() const {
  const long code = -static_cast<long>(failure_);
  const bool peerGone = code == FI_ECONNRESET || code == FI_ENOTCONN || code == FI_ECONNABORTED ||
                        code == FI_ESHUTDOWN || code == FI_ECONNREFUSED || code == EPIPE ||
                        code == FI_EHOSTUNREACH || code == FI_EHOSTDOWN || code == FI_ETIMEDOUT;
  Error error =
      fabricError(fmt::format("{} with {}", failedAt_, peerText()), static_cast<long>(failure_),
                  peerGone ? "look at the other side's account" : "",
                  peerGone ? ErrorCode::kPeerLost : ErrorCode::kTransport);
  if (fromCq_) {
    error.nativeText +=
        fmt::format("; the provider says: {} (prov_errno {})", cqText_.data(), cqError_.prov_errno);
  }
  return error;
}

std::string LibfabricLane::peerText() const {
  return fmt::format("{} over provider {}", peer_.name, objects_.info->fabric_attr->prov_name);
}

Error LibfabricLane::connectError() const {
  Error error = errorDetail();
  error.nativeText = fmt::format("could not {}: {}", failedAt_, error.nativeText);
  error.tried = "connect to " + peerText();
  if (error.next.empty()) error.next = kPeerHint;
  return error;
}

Status LibfabricLane::handshake(bool speaksFirst, Deadline deadline) {
  const Message hello{kHello, layout_.syncSlot(), kHelloBytes};
  bool expected = false;
  bool sent = false;
  bool sentReported = false;
  bool arrived = false;
  std::array<Event, 8> events;
  if (wantsDataReceives_ && !postDataReceives()) return connectError();
  while (!arrived || !sentReported) {
    if (!expected) expected = submit({}, {&hello, 1}).expects == 1;
    const bool myTurn = expected && (speaksFirst || arrived);
    if (myTurn && !sent) sent = submit({&hello, 1}, {}).sends == 1;
    const std::size_t n = poll(events);
    for (std::size_t i = 0; i < n; ++i) {
      if (events[i].kind == Event::Kind::kFailed) return connectError();
      (events[i].kind == Event::Kind::kSent ? sentReported : arrived) = true;
    }
    if (n != 0) continue;
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() > deadline) {
      const bool silent = sent || (expected && !speaksFirst);
      return Error{.code = ErrorCode::kTimeout,
                   .tried = "connect to " + peerText(),
                   .nativeText = silent ? "no message of the peer came in time"
                                        : "the provider would not take a message in time",
                   .next = kPeerHint};
    }
  }
  return Done{};
}

}  // namespace gdrbench::libfabric
