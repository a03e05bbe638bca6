// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "harness/bootstrap/socket_io.h"

namespace gdrbench {

// A descriptor that came through exec would otherwise pass on to whatever a library starts, and
// keep the channel open after this process has ended.
Channel::Channel(int fd) : fd_(fd) {
  ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

Channel::Channel(Channel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), reader_(std::move(other.reader_)), stop_(other.stop_) {}

Channel::~Channel() {
  if (fd_ >= 0) ::close(fd_);
}

Status Channel::send(const ControlMessage& message, TimePoint deadline) {
  const Result<std::string> frame = encodeFrame(message);
  if (!frame) return frame.error();
  return socket_io::sendAll(fd_, *frame, deadline, stop_,
                            fmt::format("send {} on the control channel", name(message.type)));
}

Result<ControlMessage> Channel::receive(TimePoint deadline) {
  constexpr std::string_view kTried = "receive on the control channel";
  std::array<char, std::size_t{16} * 1024> piece;
  ControlMessage message;
  while (!reader_.next(message)) {
    // A fault behind a whole message waits in the reader until that message is taken.
    if (Status sound = reader_.feed({}); !sound) return std::move(sound).error();
    if (Status ready = socket_io::waitFor(fd_, POLLIN, deadline, stop_, kTried); !ready) {
      return std::move(ready).error();
    }
    const ssize_t got = ::recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return socket_io::lost(kTried, got < 0 ? errno : 0, reader_.midFrame());
    (void)reader_.feed({piece.data(), static_cast<std::size_t>(got)});
  }
  return message;
}

}  // namespace gdrbench
