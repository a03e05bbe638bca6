// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transports/message_queue.h"
#include "transports/tcp/socket.h"
#include "transports/transport.h"

struct iovec;

namespace gdrbench::tcp {

/// A byte stream of records: a header of 16 bytes (the message itself) and the payload. One system
/// call gathers, or scatters, as many records as are waiting; payloads go from and to the slots
/// without a copy in between.
class TcpLane final : public Lane {
 public:
  TcpLane(Socket socket, const LaneSpec& spec, std::byte* source, std::byte* target);

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override { return error_; }

 private:
  /// One direction: which messages, where their headers and slots lie, how far the first one is.
  struct Stream {
    MessageQueue queue;
    std::vector<Message> headers;  ///< by position in the queue
    std::byte* slots;
    std::uint64_t moved = 0;  ///< bytes of the front record
  };

  std::size_t gather(Stream& stream, std::span<iovec> parts) const noexcept;
  static void advance(Stream& stream, std::uint64_t bytes) noexcept;
  void sendWaiting() noexcept;
  void receiveExpected() noexcept;
  void checkHeaders(std::uint64_t bytes) noexcept;
  bool belongs(std::span<const Message> messages) noexcept;
  void fail(Error error) noexcept;
  void failSystem(const char* what, int errnoValue) noexcept;

  Socket socket_;
  std::string peer_;
  SlotLayout layout_;
  Stream out_, in_;
  bool failed_ = false;
  Error error_;
};

}  // namespace gdrbench::tcp
