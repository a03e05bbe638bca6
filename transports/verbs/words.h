// SPDX-License-Identifier: Apache-2.0
// What completion statuses and asynchronous events mean, in words that help.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/error.h"

namespace gdrbench::verbs {

/// A work completion that is no success. `operation`: "an RDMA write"; `with`: the peer.
struct BadCompletion {
  int status = 0;
  std::uint32_t vendorError = 0;
  std::string operation, with;
};
Error explain(const BadCompletion& completion);

/// An asynchronous event of the device that ends a conversation. `where`: "port 1 of mlx5_0".
Error explainEvent(int type, const std::string& where);

/// True for events after which nothing can be expected of a lane; `port` is the one in use,
/// `eventPort` the event's, for events of ports.
bool isFatal(int type, int eventPort, int port);

}  // namespace gdrbench::verbs
