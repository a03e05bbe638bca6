// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/cuda_copy_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace gdrbench::cuda_copy {
namespace {

/// Copies that may stand in the stream. A stream that is full makes the driver wait within the
/// call, and submit must not wait.
constexpr std::size_t kCopiesInFlight = 256;
static_assert(std::has_single_bit(kCopiesInFlight), "positions are masked");

/// A batch closes once it has so many bytes, so that the first of many large messages is told of
/// before the last is copied. Large enough for the event to cost nothing beside the copies.
constexpr std::uint64_t kBatchBytes = 16u << 20;

static_assert(sizeof(Message) == kUnit, "a message is its own entry in the ring");

std::string text(const Message& message) {
  return fmt::format("ticket {}, slot {}, {} bytes", message.ticket, message.slot, message.bytes);
}

bool same(const Message& a, const Message& b) noexcept {
  return a.ticket == b.ticket && a.slot == b.slot && a.bytes == b.bytes;
}

/// An address that differs from thread to thread.
const void* thisThread() noexcept {
  static thread_local char place;
  return &place;
}

}  // namespace

std::uint64_t ringBytes(const LaneSpec& spec) {
  return std::max(std::uint64_t{4096}, MessageQueue(spec.window).capacity() * kUnit);
}

Result<std::unique_ptr<Lane>> CudaCopyLane::make(Route route, const LaneSpec& spec,
                                                 std::shared_ptr<SharedPair> pair) {
  Result<cuda::Stream> stream = cuda::Stream::make(route.device);
  if (!stream) return stream.error();
  // There are never more batches than messages under way.
  Result<cuda::Events> events = cuda::Events::make(route.device, kCopiesInFlight, false);
  if (!events) return events.error();
  return std::unique_ptr<Lane>(new CudaCopyLane(std::move(route), spec, std::move(pair),
                                                *std::move(stream), *std::move(events)));
}

CudaCopyLane::CudaCopyLane(Route route, const LaneSpec& spec, std::shared_ptr<SharedPair> pair,
                           cuda::Stream stream, cuda::Events events)
    : pair_(std::move(pair)),
      route_(std::move(route)),
      layout_(spec.layout),
      sends_(spec.window),
      expects_(spec.window),
      writer_(pair_->writer()),
      reader_(pair_->reader()),
      stream_(std::move(stream)),
      events_(std::move(events)),
      batches_(events_.size()) {}

// The peer's memory is unmapped next: nothing may still write to it.
CudaCopyLane::~CudaCopyLane() {
  if (route_.device->makeCurrent().ok()) route_.device->cuda().streamSynchronize(stream_.get());
  pair_->close();
}

// Calls of the driver need a current context on their thread, whichever: stream and event say which
// device is meant.
void CudaCopyLane::enterThread() noexcept {
  if (thread_ == thisThread()) return;
  thread_ = thisThread();
  if (Status current = route_.device->makeCurrent(); !current) fail(current.error());
}

Accepted CudaCopyLane::submit(std::span<const Send> sends,
                              std::span<const Expect> expects) noexcept {
  for (const auto& messages : {sends, expects}) {
    for (const Message& message : messages) {
      if (!fits(layout_, message)) {
        fail({.code = ErrorCode::kInternal,
              .tried = "take a message that fits no slot: " + text(message)});
      }
    }
  }
  enterThread();
  if (failed_) return {};
  const std::size_t room = kCopiesInFlight - std::min(kCopiesInFlight, sends_.waiting());
  const Accepted accepted{sends_.accept(sends.first(std::min(room, sends.size()))),
                          expects_.accept(expects)};
  startCopies(sends.first(accepted.sends));
  return accepted;
}

void CudaCopyLane::startCopies(std::span<const Send> sends) noexcept {
  Batch batch;
  std::uint64_t bytes = 0;
  for (const Send& send : sends) {
    ++batch.messages;
    if (send.slot != layout_.syncSlot()) {
      startCopy(send);
      batch.copies = true;
      bytes += send.bytes;
    }
    if (bytes < kBatchBytes) continue;
    closeBatch(std::exchange(batch, {}));
    bytes = 0;
  }
  if (batch.messages != 0) closeBatch(batch);
}

void CudaCopyLane::startCopy(const Send& send) noexcept {
  const cuda::Api& cuda = route_.device->cuda();
  const std::uint64_t offset = layout_.offsetOf(send.slot);
  const cuda::DevicePointer to = route_.target + offset, from = route_.source + offset;
  const cuda::Code code = route_.targetContext == nullptr
                              ? cuda.copyAsync(to, from, send.bytes, stream_.get())
                              : cuda.copyPeerAsync(to, route_.targetContext, from,
                                                   route_.sourceContext, send.bytes, stream_.get());
  if (code != cuda::kSuccess) failCopy("start a copy", code);
}

void CudaCopyLane::closeBatch(const Batch& batch) noexcept {
  const std::size_t at = nextBatch_ & (batches_.size() - 1);
  batches_[at] = batch;
  if (batch.copies && !failed_) {
    const cuda::Code code = route_.device->cuda().eventRecord(events_[at], stream_.get());
    if (code != cuda::kSuccess) failCopy("record the end of a copy", code);
  }
  ++nextBatch_;
}

std::size_t CudaCopyLane::poll(std::span<Event> events) noexcept {
  enterThread();
  if (!failed_) {
    announceSent();
    takeArrivals();
  }
  std::size_t count = sends_.report(Event::Kind::kSent, events);
  count += expects_.report(Event::Kind::kArrived, events.subspan(count));
  if (count != 0 || events.empty()) return count;
  if (!failed_) checkPeer();
  if (!failed_) return 0;
  events[0] = {Event::Kind::kFailed, 0};
  return 1;
}

// Only the oldest batch is asked for: a question costs the driver about a microsecond, and what
// comes behind it in the stream cannot be done earlier.
void CudaCopyLane::announceSent() noexcept {
  while (firstBatch_ != nextBatch_) {
    Batch& oldest = batches_[firstBatch_ & (batches_.size() - 1)];
    if (!isDone(oldest) || !announce(oldest)) return;
    ++firstBatch_;
  }
}

bool CudaCopyLane::isDone(Batch& batch) noexcept {
  if (!batch.copies) batch.done = true;
  if (batch.done) return true;
  cuda::EventHandle event = events_[firstBatch_ & (batches_.size() - 1)];
  const cuda::Code code = route_.device->cuda().eventQuery(event);
  if (code == cuda::kNotReady) return false;
  batch.done = code == cuda::kSuccess;
  if (!batch.done) failCopy("finish a copy", code);
  return batch.done;
}

/// Whether the ring had room for all of it. The event has ordered the copy before what is written
/// here, so that the peer finds the bytes when it finds the ticket.
bool CudaCopyLane::announce(Batch& batch) noexcept {
  while (batch.messages != 0) {
    if (writer_.room() < kUnit) writer_.look();
    if (writer_.room() < kUnit) break;
    writer_.put(&sends_.front(), kUnit);
    sends_.finish();
    --batch.messages;
  }
  writer_.publish();
  return batch.messages == 0;
}

void CudaCopyLane::takeArrivals() noexcept {
  bool took = false;
  while (expects_.waiting() != 0) {
    if (reader_.available() < kUnit) reader_.look();
    if (reader_.available() < kUnit) break;
    Message arrived;
    reader_.take(&arrived, kUnit);
    took = true;
    if (!same(arrived, expects_.front())) {
      fail({.code = ErrorCode::kProtocol,
            .tried = fmt::format("receive what was expected ({}): the peer sent {}",
                                 text(expects_.front()), text(arrived))});
      break;
    }
    expects_.finish();
  }
  if (took) reader_.publish();
}

// A peer that has sent everything may go; it is missed only by who awaits more of it. Its flag is
// read before the counters, which it wrote earlier.
void CudaCopyLane::checkPeer() noexcept {
  const bool waitsForRoom =
      firstBatch_ != nextBatch_ && batches_[firstBatch_ & (batches_.size() - 1)].done;
  if (expects_.waiting() == 0 && !waitsForRoom) return;
  if (!pair_->peerClosed()) return;
  reader_.look();
  if (expects_.waiting() != 0 && reader_.available() != 0) return;
  if (expects_.waiting() == 0) {
    writer_.look();
    if (writer_.room() != 0) return;
  }
  const bool receives = expects_.waiting() != 0;
  fail({.code = ErrorCode::kPeerLost,
        .tried = fmt::format("{} by copies of the CUDA driver ({}): the peer has closed its side",
                             receives ? "receive" : "send",
                             text(receives ? expects_.front() : sends_.front()))});
}

void CudaCopyLane::failCopy(const char* step, cuda::Code code) noexcept {
  fail(cuda::error(fmt::format("{} from {}", step, route_.text), code,
                   "see the kernel log for Xid messages of these GPUs"));
}

void CudaCopyLane::fail(Error error) noexcept {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

}  // namespace gdrbench::cuda_copy
