// SPDX-License-Identifier: Apache-2.0
// A case: one row of the report, everything explicit. It travels to both workers as JSON, so the
// two sides cannot differ.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "harness/measure/stopping_rule.h"
#include "harness/memory/buffer.h"
#include "harness/patterns/pattern.h"
#include "transports/registry.h"

namespace gdrbench {

enum class Verify { kAll, kSample, kOff };

/// Which witnesses of the path a worker carries.
enum class Watching {
  kNone,
  kFree,  ///< those that do nothing while messages are timed
  kAll    ///< a run of its own, whose figures are not the row's
};

inline constexpr std::string_view kDirectPath = "direct";
inline constexpr std::string_view kStagedPath = "staged";
inline constexpr std::string_view kLibraryStagedPath = "library-staged";

struct Case {
  std::string id;         ///< unique in the plan, readable: "tcp/ping-pong/64B"
  std::string label;      ///< of the transport entry
  std::string transport;  ///< in the registry
  OptionSet options;      ///< of the transport, complete
  std::string library;    ///< path of a vendor library, or empty
  std::vector<std::pair<std::string, std::string>> env;
  MemoryName source, destination;  ///< memory of the initiator and of the responder
  std::string path = "direct";     ///< direct | staged | library-staged
  OptionSet staging;               ///< of the staged path, complete
  std::string cudaMemory;          ///< auto | malloc | vmm
  Drive drive = Drive::kHost;      ///< as the transport's options ask
  std::string pattern;
  std::uint64_t bytes = 0;
  std::uint32_t window = 1;  ///< as asked for
  std::uint32_t batch = 1;
  Direction direction = Direction::kUni;
  std::uint32_t beside = 0;      ///< other pairs of memory that are measured at the same time
  std::uint32_t pairNumber = 0;  ///< among these, from 0: each takes CPUs of its own
  WarmupRule warmup;
  StopRule stop;
  Verify verify = Verify::kAll;
  Watching watching = Watching::kFree;
  std::int64_t timeoutNs = 0;
  std::uint64_t rawSamples = 0;  ///< at most so many are kept in a file
  std::optional<int> initiatorCpu, responderCpu;
  bool cpusGiven = false;  ///< by the user; otherwise a worker moves near its GPU

  std::optional<std::string> skip;  ///< why it cannot run, known without trying
};

/// What a case comes to on its lane; a pure function, the same on both sides.
struct BlockPlan {
  SlotLayout layout;
  std::uint32_t messages = 0;  ///< recorded messages of a full block
  std::uint32_t leadIn = 0;    ///< before them
  std::uint32_t window = 1;    ///< effective: never more than there are messages
  std::uint32_t batch = 1;     ///< effective: never more than the window
};
BlockPlan planBlocks(const Case& testCase);

/// Bytes that one side allocates.
std::uint64_t footprint(const BlockPlan& plan);

/// What the transport can do on the case's path.
Capabilities capabilitiesOf(const Case& testCase, const Registry& registry);

boost::json::value toJson(const Case& testCase, const Registry& registry);
/// Strict; the options are read against the registry's table.
Result<Case> caseFromJson(const boost::json::value& value, const Registry& registry);

/// fnv1a-64 of the case's JSON, hexadecimal.
std::string digest(const Case& testCase, const Registry& registry);

/// "host", or "cuda:0 -> cuda:1".
std::string memoryText(const Case& testCase);
/// The memory of one side at least lies in a GPU.
bool onGpu(const Case& testCase);

std::string_view name(Verify verify);
std::string_view name(Watching watching);  // "off" "free" "full"
std::string_view name(Direction direction);

}  // namespace gdrbench
