// SPDX-License-Identifier: Apache-2.0
#include "transports/loopback/loopback_lane.h"

#include <fmt/format.h>

#include <algorithm>

namespace gdrbench::loopback {
namespace {

// Large enough for memcpy to reach its speed, small enough to stay in the second-level cache until
// the other side copies it out.
constexpr std::uint64_t kPiece = 64u << 10;

static_assert(sizeof(Message) == kUnit, "a message is its own header in the ring");

std::string text(const Message& message) {
  return fmt::format("ticket {}, slot {}, {} bytes", message.ticket, message.slot, message.bytes);
}

}  // namespace

LoopbackLane::LoopbackLane(std::shared_ptr<SharedPair> pair, const LaneSpec& spec,
                           const std::byte* source, std::byte* target)
    : pair_(std::move(pair)),
      layout_(spec.layout),
      source_(source),
      target_(target),
      piece_(std::min(kPiece, pair_->fifoBytes() / 4)),
      sends_(spec.window),
      expects_(spec.window),
      writer_(pair_->writer()),
      reader_(pair_->reader()) {}

Accepted LoopbackLane::submit(std::span<const Send> sends,
                              std::span<const Expect> expects) noexcept {
  for (const auto& messages : {sends, expects}) {
    for (const Message& message : messages) {
      if (!fits(layout_, message)) {
        fail({.code = ErrorCode::kInternal,
              .tried = "take a message that fits no slot: " + text(message)});
      }
    }
  }
  if (failed_) return {};
  const Accepted accepted{sends_.accept(sends), expects_.accept(expects)};
  copyIn();
  return accepted;
}

std::size_t LoopbackLane::poll(std::span<Event> events) noexcept {
  if (!failed_) {
    copyIn();
    copyOut();
  }
  std::size_t count = sends_.report(Event::Kind::kSent, events);
  count += expects_.report(Event::Kind::kArrived, events.subspan(count));
  if (count != 0 || events.empty()) return count;
  if (!failed_) checkPeer();
  if (!failed_) return 0;
  events[0] = {Event::Kind::kFailed, 0};
  return 1;
}

// Looks at the other side's counter at most once, and only when out of room: one call moves at most
// what fits into the ring twice, so that poll comes back to its caller.
void LoopbackLane::copyIn() noexcept {
  while (copyPieceIn()) {
  }
  if (sends_.waiting() == 0) return;
  writer_.look();
  while (copyPieceIn()) {
  }
}

bool LoopbackLane::copyPieceIn() noexcept {
  if (sends_.waiting() == 0) return false;
  const Message& message = sends_.front();
  if (!headerIn_) {
    if (writer_.room() < kUnit) return false;
    writer_.put(&message, kUnit);
    headerIn_ = true;
    bytesIn_ = 0;
  }
  const std::uint64_t bytes = std::min({message.bytes - bytesIn_, writer_.room(), piece_});
  writer_.put(source_ + layout_.offsetOf(message.slot) + bytesIn_, bytes);
  writer_.publish();
  bytesIn_ += bytes;
  if (bytesIn_ != message.bytes) return bytes != 0;
  sends_.finish();
  headerIn_ = false;
  return true;
}

void LoopbackLane::copyOut() noexcept {
  while (copyPieceOut()) {
  }
  if (expects_.waiting() == 0) return;
  reader_.look();
  while (copyPieceOut()) {
  }
}

bool LoopbackLane::copyPieceOut() noexcept {
  if (expects_.waiting() == 0 || failed_) return false;
  const Message& expected = expects_.front();
  if (!headerOut_) {
    if (reader_.available() < kUnit) return false;
    Message header;
    reader_.take(&header, kUnit);
    if (header.ticket != expected.ticket || header.slot != expected.slot ||
        header.bytes != expected.bytes) {
      fail({.code = ErrorCode::kProtocol,
            .tried = fmt::format("receive what was expected ({}): the peer sent {}", text(expected),
                                 text(header))});
      return false;
    }
    headerOut_ = true;
    bytesOut_ = 0;
  }
  const std::uint64_t bytes = std::min({expected.bytes - bytesOut_, reader_.available(), piece_});
  reader_.take(target_ + layout_.offsetOf(expected.slot) + bytesOut_, bytes);
  reader_.publish();
  bytesOut_ += bytes;
  if (bytesOut_ != expected.bytes) return bytes != 0;
  expects_.finish();
  headerOut_ = false;
  return true;
}

// A peer that has sent everything may go; it is missed only by who awaits more of it. Its flag is
// read before the counters, which it wrote earlier.
void LoopbackLane::checkPeer() noexcept {
  if (sends_.waiting() == 0 && expects_.waiting() == 0) return;
  if (!pair_->peerClosed()) return;
  reader_.look();
  const bool more = expects_.waiting() != 0 && reader_.available() != 0;
  if (more) return;
  writer_.look();
  const bool stuck = sends_.waiting() != 0 && writer_.room() == 0;
  if (expects_.waiting() == 0 && !stuck) return;
  fail({.code = ErrorCode::kPeerLost,
        .tried = fmt::format("{} over loopback ({}): the peer has closed its side",
                             stuck ? "send" : "receive",
                             text(stuck ? sends_.front() : expects_.front()))});
}

void LoopbackLane::fail(Error error) noexcept {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

}  // namespace gdrbench::loopback
