// SPDX-License-Identifier: Apache-2.0
// What the channel lines of NCCL's log say about the path between two ranks. Decided for each
// channel and direction when it is set up; a registration that fails afterwards is an error of NCCL
// and no fallback, so a line together with messages that went through is the path.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/observation.h"
#include "transports/nccl/channel_log.h"

namespace gdrbench::nccl {

struct ChannelFacts {
  int rank = 0, peer = 1;
  std::string library = {};  ///< version as the library itself says, "2.28.3"
  std::string noLog = {};    ///< why there is no log; empty: there is one
  bool registrationsLogged = false;
  /// NCCL_ALLOC_P2P_NET_LL_BUFFERS: small messages then leave from host memory, GDR or not.
  bool lowLatencyBuffers = false;
  /// Settings that take a plugin's own check of the path out: "OFI_NCCL_..._CHECK=1".
  std::vector<std::string> fuses = {};
};

/// The part of the facts that is in the environment of this process.
void readEnvironment(ChannelFacts& facts);

std::vector<evidence::Observation> channelObservations(const ChannelLog& log,
                                                       const ChannelFacts& facts);

}  // namespace gdrbench::nccl
