// SPDX-License-Identifier: Apache-2.0
// The bodies of control messages: plain data to JSON text and back. What arrives is not trusted:
// every reader answers an Error for a body that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bootstrap/message.h"
#include "harness/core/clock.h"
#include "harness/core/result.h"
#include "harness/measure/runner.h"
#include "harness/report/document.h"
#include "harness/run/case.h"
#include "harness/run/frozen_peer.h"
#include "transports/transport.h"

namespace gdrbench::wire {

struct Hello {
  std::string build;
  int pid = 0;
  std::string host;
};

struct Assign {
  std::string digest;  ///< of the case, by the conductor
  Case testCase;
  Role role = Role::kInitiator;
  std::uint64_t seed = 0;
  std::string namePrefix;
  bool peerOnThisHost = true;
  std::string clockKind;  ///< "tsc" | "monotonic"
  double ticksPerNanosecond = 1;
};

struct Address {
  std::string digest;  ///< of the case, as this side understood it
  Bytes bytes;
};

struct Ready {
  std::vector<Claim> claims;
};

/// What the initiator asks of the responder. No blocks: the measurement is over.
struct ChunkOrder {
  Chunk chunk;
};

struct Failure {
  std::string phase;
  Error error;
  report::Run partial;  ///< what had been done by then
};

ControlMessage encode(const Hello& hello);
ControlMessage encode(const Assign& assign, const Registry& registry);
ControlMessage encodeAddress(const Address& address, MessageType type);  ///< kAddress or kPeer
ControlMessage encode(const Ready& ready);
ControlMessage encode(const ChunkOrder& order);
ControlMessage encode(const Failure& failure);
ControlMessage encode(const FrozenStep& step);
ControlMessage encodePhase(std::string_view phase);
ControlMessage encodeResult(const report::Run& run);
ControlMessage empty(MessageType type);

Result<Hello> decodeHello(const ControlMessage& message);
Result<Assign> decodeAssign(const ControlMessage& message, const Registry& registry);
Result<Address> decodeAddress(const ControlMessage& message);
Result<Ready> decodeReady(const ControlMessage& message);
Result<ChunkOrder> decodeChunk(const ControlMessage& message);
Result<Failure> decodeFailure(const ControlMessage& message);
Result<FrozenStep> decodeFrozen(const ControlMessage& message);
Result<std::string> decodePhase(const ControlMessage& message);
Result<report::Run> decodeResult(const ControlMessage& message);

/// Raw samples as frames of at most kMaxBody, and back.
std::vector<ControlMessage> encodeSamples(const std::vector<double>& nanoseconds);
Status appendSamples(const ControlMessage& message, std::vector<double>& nanoseconds);

}  // namespace gdrbench::wire
