// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transports/claim.h"
#include "transports/tcp/socket.h"

namespace gdrbench::tcp {

/// What is in effect on a connected socket.
std::vector<Claim> claimsOf(const Socket& socket, const SocketSettings& requested);

}  // namespace gdrbench::tcp
