// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/tcp_lane.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace gdrbench::tcp {
namespace {

constexpr std::size_t kHeader = sizeof(Message);
static_assert(kHeader == 16, "a message is its own header on the wire");

// Records of one system call. More gain little: the call's cost is spread thin by then.
constexpr std::size_t kBatch = 16;
using Parts = std::array<iovec, 2 * kBatch>;

std::string text(const Message& message) {
  return fmt::format("ticket {}, slot {}, {} bytes", message.ticket, message.slot, message.bytes);
}

bool equal(const Message& a, const Message& b) noexcept {
  return a.ticket == b.ticket && a.slot == b.slot && a.bytes == b.bytes;
}

}  // namespace

TcpLane::TcpLane(Socket socket, const LaneSpec& spec, std::byte* source, std::byte* target)
    : socket_(std::move(socket)),
      peer_(peerAddress(socket_).text()),
      layout_(spec.layout),
      out_{.queue = MessageQueue(spec.window), .headers = {}, .slots = source},
      in_{.queue = MessageQueue(spec.window), .headers = {}, .slots = target} {
  out_.headers.resize(out_.queue.capacity());
  in_.headers.resize(in_.queue.capacity());
}

Accepted TcpLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  if (!belongs(sends) || !belongs(expects) || failed_) return {};
  const std::size_t before = out_.queue.waiting();
  const Accepted accepted{out_.queue.accept(sends), in_.queue.accept(expects)};
  for (std::size_t i = before; i < out_.queue.waiting(); ++i) {
    out_.headers[out_.queue.position(i)] = out_.queue.at(i);
  }
  sendWaiting();
  return accepted;
}

std::size_t TcpLane::poll(std::span<Event> events) noexcept {
  if (!failed_) sendWaiting();
  if (!failed_) receiveExpected();
  std::size_t count = out_.queue.report(Event::Kind::kSent, events);
  count += in_.queue.report(Event::Kind::kArrived, events.subspan(count));
  if (count != 0 || !failed_ || events.empty()) return count;
  events[0] = {Event::Kind::kFailed, 0};
  return 1;
}

// The parts of the first records that have not been moved yet.
std::size_t TcpLane::gather(Stream& stream, std::span<iovec> parts) const noexcept {
  std::uint64_t done = stream.moved;
  std::size_t used = 0;
  const std::size_t records = std::min(stream.queue.waiting(), kBatch);
  for (std::size_t i = 0; i < records; ++i) {
    const Message& message = stream.queue.at(i);
    auto* header = reinterpret_cast<std::byte*>(&stream.headers[stream.queue.position(i)]);
    std::byte* payload = stream.slots + layout_.offsetOf(message.slot);
    const std::uint64_t headerDone = std::min<std::uint64_t>(done, kHeader);
    const std::uint64_t payloadDone = done - headerDone;
    if (headerDone != kHeader) parts[used++] = {header + headerDone, kHeader - headerDone};
    if (payloadDone != message.bytes) {
      parts[used++] = {payload + payloadDone, message.bytes - payloadDone};
    }
    done = 0;
  }
  return used;
}

void TcpLane::advance(Stream& stream, std::uint64_t bytes) noexcept {
  stream.moved += bytes;
  while (stream.queue.waiting() != 0) {
    const std::uint64_t record = kHeader + stream.queue.front().bytes;
    if (stream.moved < record) return;
    stream.moved -= record;
    stream.queue.finish();
  }
}

void TcpLane::sendWaiting() noexcept {
  if (out_.queue.waiting() == 0) return;
  Parts parts;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = gather(out_, parts);
  const ssize_t moved = sendmsg(socket_.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (moved >= 0) {
    advance(out_, static_cast<std::uint64_t>(moved));
  } else if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
    failSystem("send to", errno);
  }
}

// Reads no further than what is expected: the rest waits in the kernel, and a peer that closes
// after its last message is not missed. Payloads land in the slots of the expects before their
// headers have been looked at: wherever they belong, that is within bounds.
void TcpLane::receiveExpected() noexcept {
  if (in_.queue.waiting() == 0) return;
  Parts parts;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = gather(in_, parts);
  const ssize_t moved = recvmsg(socket_.fd(), &message, MSG_DONTWAIT);
  if (moved > 0) {
    checkHeaders(static_cast<std::uint64_t>(moved));
    if (!failed_) advance(in_, static_cast<std::uint64_t>(moved));
  } else if (moved == 0) {
    fail({.code = ErrorCode::kPeerLost,
          .tried = fmt::format("receive from {} ({}): the peer closed the connection", peer_,
                               text(in_.queue.front()))});
  } else if (errno != EAGAIN && errno != EINTR) {
    failSystem("receive from", errno);
  }
}

void TcpLane::checkHeaders(std::uint64_t bytes) noexcept {
  std::uint64_t reached = in_.moved + bytes;
  for (std::size_t i = 0; i < in_.queue.waiting() && reached >= kHeader; ++i) {
    const Message& expected = in_.queue.at(i);
    const Message& header = in_.headers[in_.queue.position(i)];
    if (!equal(expected, header)) {
      fail({.code = ErrorCode::kProtocol,
            .tried = fmt::format("receive what was expected from {} ({}): the peer announced {}{}",
                                 peer_, text(expected), text(header),
                                 fits(layout_, header) ? "" : ", which fits no slot")});
      return;
    }
    const std::uint64_t record = kHeader + expected.bytes;
    if (reached < record) return;
    reached -= record;
  }
}

bool TcpLane::belongs(std::span<const Message> messages) noexcept {
  for (const Message& message : messages) {
    if (fits(layout_, message)) continue;
    fail({.code = ErrorCode::kInternal,
          .tried = "take a message that fits no slot: " + text(message)});
    return false;
  }
  return true;
}

void TcpLane::fail(Error error) noexcept {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

void TcpLane::failSystem(const char* what, int errnoValue) noexcept {
  Error error = systemError(fmt::format("{} {}", what, peer_), errnoValue);
  const bool lost = errnoValue == ECONNRESET || errnoValue == EPIPE || errnoValue == ETIMEDOUT;
  error.code = lost ? ErrorCode::kPeerLost : ErrorCode::kTransport;
  fail(std::move(error));
}

}  // namespace gdrbench::tcp
