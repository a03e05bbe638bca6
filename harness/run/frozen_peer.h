// SPDX-License-Identifier: Apache-2.0
// The frozen peer: the responder's process is stopped, the initiator moves one message, and the
// responder looks for it in its memory before it may make any progress. If the message is there, no
// software of the responder moved it.
//
//   responder             conductor                  initiator
//   prepare -> kReady     stops the responder
//                         kProbe ->                  moves one message -> kProbed
//                         lets the responder go on
//   look    <- kLook
//   kLooked ->            the observation
//
// With DataFlow::kPush the initiator writes into the responder's memory; with kPull it reads from
// there, and looks itself.
#pragma once

#include <optional>
#include <string>

#include "harness/core/result.h"
#include "harness/evidence/observation.h"
#include "harness/run/block_runner.h"
#include "harness/run/case.h"

namespace gdrbench {

/// Why there is no such test of this case; nothing: there is.
std::optional<std::string> notFreezable(const Case& testCase, const Capabilities& can);

struct FrozenStep {
  enum class Kind { kReady, kProbe, kProbed, kLook, kLooked } kind = Kind::kReady;
  bool good = false;   ///< kProbed: it completed; kLooked: the bytes are there
  std::string detail;  ///< in words: what was found
};
std::string_view name(FrozenStep::Kind kind);

/// One side's part. `parts` are those of the blocks that ran before on the same lane.
class FrozenPeer {
 public:
  FrozenPeer(const BlockRunner::Parts& parts, Lane& lane);

  /// Responder: what the message needs of it, so that it may stand still from here on.
  Status prepare();
  /// Initiator: at most kPatience for one message, and kOnItsWay for what is called sent before it
  /// is there.
  FrozenStep probe();
  /// Responder: without touching the lane.
  FrozenStep look();
  /// Either: lets what is still on its way come to its end, for a while.
  void drain();

 private:
  [[nodiscard]] SlotRun message() const;
  [[nodiscard]] bool pulls() const { return parts_.flow == DataFlow::kPull; }
  FrozenStep compare(FrozenStep::Kind kind, std::string found);
  bool await(Event::Kind kind);
  bool settle();

  BlockRunner::Parts parts_;
  Lane& lane_;
  DataPattern pattern_;
  bool pending_ = false;  ///< this side waits for an event
};

/// What both steps come to. A message that was there shows that no software of the peer staged it,
/// which decides where nobody else can have. One that was not shows only that such software takes
/// part: it may copy, or start a device that does.
evidence::Observation frozenPeerSeen(const Case& testCase, const Capabilities& can,
                                     const FrozenStep& probed, const FrozenStep& looked);
/// Why it could not be had.
evidence::Observation frozenPeerMissing(const Case& testCase, std::string reason);

}  // namespace gdrbench
