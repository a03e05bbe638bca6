// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/socket_io.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace gdrbench::socket_io {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kStopCheck{100};
// poll takes an int of milliseconds; a farther deadline is waited for in parts.
constexpr milliseconds kLongestPoll{60 * 60 * 1000};

Error timeout(std::string_view tried) {
  return {.code = ErrorCode::kTimeout,
          .tried = std::string(tried),
          .nativeText = "its deadline passed"};
}

// Rounded up, so that the last wait does not become a series of empty ones.
int pollTime(TimePoint now, TimePoint deadline, bool checksStop) {
  const milliseconds longest = checksStop ? kStopCheck : kLongestPoll;
  if (deadline <= now) return 0;
  if (deadline >= now + longest) return static_cast<int>(longest.count());
  return static_cast<int>(std::chrono::ceil<milliseconds>(deadline - now).count());
}

}  // namespace

Status waitFor(int fd, short events, TimePoint deadline, const std::atomic<int>* stop,
               std::string_view tried) {
  while (true) {
    if (stop != nullptr) {
      if (const int why = stop->load(std::memory_order_relaxed); why != 0) {
        return stoppedError(std::string(tried), why);
      }
    }
    const TimePoint now = steady_clock::now();
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, pollTime(now, deadline, stop != nullptr));
    if (ready > 0) return Done{};
    if (ready < 0 && errno != EINTR) return systemError(std::string(tried), errno);
    if (ready == 0 && now >= deadline) return timeout(tried);
  }
}

Status sendAll(int fd, std::string_view bytes, TimePoint deadline, const std::atomic<int>* stop,
               std::string_view tried) {
  while (!bytes.empty()) {
    if (Status ready = waitFor(fd, POLLOUT, deadline, stop, tried); !ready) return ready;
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && errno != EAGAIN) {
      return lost(tried, errno, false);
    }
  }
  return Done{};
}

bool meansPeerLost(int errnoValue) {
  return errnoValue == EPIPE || errnoValue == ECONNRESET;
}

Error lost(std::string_view tried, int errnoValue, bool midMessage) {
  if (errnoValue != 0 && !meansPeerLost(errnoValue)) {
    return systemError(std::string(tried), errnoValue);
  }
  return {.code = ErrorCode::kPeerLost,
          .tried = std::string(tried),
          .nativeCode = errnoValue,
          .nativeText = errnoValue != 0 ? std::generic_category().message(errnoValue)
                        : midMessage ? "the other end closed the channel in the middle of a message"
                                     : "the other end closed the channel"};
}

}  // namespace gdrbench::socket_io
