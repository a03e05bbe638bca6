// SPDX-License-Identifier: Apache-2.0
// What was seen of the path that the bytes took. A claim (transports/claim.h) says what somebody
// believes; an observation says what a witness saw, what it would have seen had the path been
// direct or staged, and how much that weighs. Only verdict.h turns observations into a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gdrbench::evidence {

/// The direction of the payload. A witness in a worker says kOut for what its own side sends; the
/// worker turns that round for the responder (see mirrored()).
enum class Way {
  kOut,   ///< initiator to responder
  kBack,  ///< responder to initiator
  kBoth
};

/// The end of the way: the memory that is read at the sender, or written at the receiver.
enum class Side { kSource, kSink, kBoth };

/// What kind of thing the witness looks at.
enum class WitnessClass {
  kConstruction,  ///< there is no other way for these bytes to go
  kLibrary,       ///< the library's own account of the path of this conversation
  kBehaviour,     ///< what happens when one way is made impossible
  kCounter,       ///< bytes that passed a port, a link or a copy engine
  kWork,          ///< copies and CPU work that were recorded
  kCapability,    ///< what could be; never what was
};

/// What an observation bears upon.
enum class Bearing {
  kPath,          ///< direct or staged
  kConservation,  ///< the payload passed the link it was meant to pass (kDirect) or it did not
  kFuse,          ///< a check of the library that would have refused the wrong path: off is kStaged
};

enum class Outcome {
  kDirect,       ///< as a direct path looks, and a staged one does not
  kStaged,       ///< as a staged path looks, and a direct one does not
  kNeutral,      ///< both look like this
  kUnavailable,  ///< could not be had; says nothing, and is not zero
  kInsensitive,  ///< did not react to a control whose truth is known: dropped
};

enum class Strength { kDecisive, kStrong, kWeak };

/// By what a direct path led. kNone where the path is not direct or the witness cannot tell.
enum class PathKind {
  kNone,
  kNvlink,
  kPcieSwitch,  ///< PIX, PXB: no host bridge between
  kPcieRoot,    ///< through a host bridge
  kC2c,         ///< NVLink-C2C between CPU and GPU, no host memory
  kGpuStaged,   ///< in GPU memory all the way, with a copy to or from a library's buffer there
  kSameGpu,     ///< both ends on one GPU: no link at all
};

struct Observation {
  std::string id;  ///< "nvlink.bytes": names the witness; dots for its parts
  WitnessClass kind = WitnessClass::kCapability;
  Bearing bearing = Bearing::kPath;
  Way way = Way::kBoth;
  Side side = Side::kBoth;
  /// The size of the messages that it was seen with. 0: of every size (a setting, a registration).
  std::uint64_t bytes = 0;
  Outcome outcome = Outcome::kNeutral;
  Strength strength = Strength::kWeak;
  PathKind path = PathKind::kNone;
  std::string observed;  ///< a phrase: "20971520 KiB sent over NVLink for 20971520 KiB of payload"
  std::string ifDirect, ifStaged;  ///< what would be seen then, as phrases
  /// Why there is nothing, or why it was dropped; what would have settled it.
  std::string reason;
  std::string control;    ///< what showed that it reacts here; empty: needs none, or had none
  std::string privilege;  ///< that it needs, or used: "none", "root", "CAP_PERFMON"
  std::string
      artefact;  ///< the raw thing: a log line, counters before and after; bounded, no secret
  bool operator==(const Observation&) const = default;
};

/// At most this much of an artefact is kept, from its front.
inline constexpr std::size_t kMaxArtefact = 2048;

/// What the responder's witness saw, in the initiator's terms.
Observation mirrored(Observation seen);

std::string_view name(Way way);            // "out" "back" "both"
std::string_view name(Side side);          // "source" "sink" "both"
std::string_view name(WitnessClass kind);  // "construction" "library" "behaviour" "counter" ...
std::string_view name(Bearing bearing);    // "path" "conservation" "fuse"
std::string_view name(Outcome outcome);  // "direct" "staged" "neutral" "unavailable" "insensitive"
std::string_view name(Strength strength);  // "decisive" "strong" "weak"
std::string_view name(PathKind path);      // "" "nvlink" "pcie-switch" "pcie-root" "c2c" ...

}  // namespace gdrbench::evidence
