// SPDX-License-Identifier: Apache-2.0
// Waiting for, and writing to, the stream socket under a control channel.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "harness/core/result.h"

namespace gdrbench::socket_io {

using TimePoint = std::chrono::steady_clock::time_point;

/// Until `fd` has one of `events` (POLLIN, POLLOUT) or is closed by the other end. kTimeout past
/// the deadline; kCancelled within 100 ms of `stop` becoming a signal's number. `tried` is for the
/// error.
Status waitFor(int fd, short events, TimePoint deadline, const std::atomic<int>* stop,
               std::string_view tried);

/// All of `bytes`, or an error: kPeerLost when the other end is gone, and those of waitFor.
Status sendAll(int fd, std::string_view bytes, TimePoint deadline, const std::atomic<int>* stop,
               std::string_view tried);

/// What recv with errno `errnoValue`, or end of file (0), means: the other end is gone, or a failed
/// system call.
Error lost(std::string_view tried, int errnoValue, bool midMessage);

/// True for the errno values of a socket whose other end is gone.
bool meansPeerLost(int errnoValue);

}  // namespace gdrbench::socket_io
