// SPDX-License-Identifier: Apache-2.0
// The control protocol between the conductor and a worker (directly, or through an agent on another
// host). A frame is a 16-byte header (magic "GDRB", protocol version, type, length of the body,
// little-endian) and a body of at most kMaxBody bytes: JSON text, or raw bytes for samples.
//
//   worker -> conductor   Hello Phase Address Ready Chunk Frozen Result Samples Failure Closed
//   conductor -> worker   Assign Peer Begin Chunk Frozen Cancel Close
//
//   Hello     who I am: protocol, version, build, pid, host
//   Assign    plan digest, the case, the role, the clock, names and deadlines
//   Phase     I enter this phase now (sent before anything is timed)
//   Address   my opaque address, and the digest of the case as I understood it
//   Peer      the other side's address; both digests and versions agreed
//   Ready     connected; my claims                      Begin: both are, go on
//   Chunk     (initiator, passed on to the responder) run so many blocks, or finish
//   Frozen    a step of the test with a peer that stands still, after all blocks
//   (run/frozen_peer.h) Result    what I measured and checked; Samples before it carry the raw
//   samples, if any Failure   what went wrong, in my view; I am leaving Close     tear down;
//   Closed: done, with notes on what went wrong while closing
//
// Between Chunk and the end of its blocks nothing is sent and nobody wakes up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/core/result.h"

namespace gdrbench {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kMaxBody = 1u << 20;

enum class MessageType : std::uint16_t {
  kHello = 1,
  kAssign,
  kPhase,
  kAddress,
  kPeer,
  kReady,
  kBegin,
  kChunk,
  kResult,
  kSamples,
  kFailure,
  kCancel,
  kClose,
  kClosed,
  kFrozen,
};
std::string_view name(MessageType type);

struct ControlMessage {
  MessageType type = MessageType::kHello;
  std::string body;
};

/// Header and body. kProtocol when the body is above kMaxBody.
Result<std::string> encodeFrame(const ControlMessage& message);

/// Cuts messages out of a byte stream that arrives in pieces. Bad magic, another protocol version,
/// an unknown type or a length above kMaxBody is an error that says what was seen and, when it
/// looks like one, what kind of client that was ("an HTTP client?").
class FrameReader {
 public:
  Status feed(std::string_view bytes);
  /// True and a message when one is complete.
  bool next(ControlMessage& message);
  /// True when a frame has begun and is not complete.
  [[nodiscard]] bool midFrame() const;

 private:
  std::string pending_;
  std::size_t consumed_ = 0;
};

}  // namespace gdrbench
