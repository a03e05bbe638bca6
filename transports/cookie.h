// SPDX-License-Identifier: Apache-2.0
// 128 random bits that one side puts into its address and the other presents when it connects: a
// stray client, or a process of another case, is told apart from the peer.
#pragma once

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "harness/core/result.h"

namespace gdrbench {

using Cookie = std::array<std::byte, 16>;

inline Result<Cookie> randomCookie() {
  Cookie cookie;
  // Requests of up to 256 bytes are never answered in part.
  if (getrandom(cookie.data(), cookie.size(), 0) < 0) {
    return systemError("read random bytes", errno);
  }
  return cookie;
}

}  // namespace gdrbench
