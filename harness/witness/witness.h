// SPDX-License-Identifier: Apache-2.0
// The harness's own witnesses: what it can see of a path without asking the transport. One object
// watches one worker's side of one case:
//
//   begin()   after the warm-up, before the first timed message: reads its counters
//   end()     after the last one: reads them again and says what it saw
//
// Both are outside the timed region; between them a free witness does nothing at all. What cannot
// be had on this machine is an observation with the outcome kUnavailable, never an Error: a witness
// that is missing must not cost a result.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/observation.h"
#include "harness/memory/buffer.h"

namespace gdrbench::witness {

/// What one side's worker knows before anything is timed.
struct Scene {
  MemoryName memory, peerMemory;
  std::string gpuPci, peerGpuPci;  ///< "0000:3b:00.0"; empty: that side's memory is in the host
  std::string nic;  ///< the RDMA or network device that the transport names; empty: none
  int nicPort = 1;
  std::uint64_t messageBytes = 0;
  bool peerOnThisHost = true;
};

/// What went through between begin() and end(), as the worker counted it.
struct Payload {
  std::uint64_t sentBytes = 0, receivedBytes = 0;
  std::uint64_t sentMessages = 0, receivedMessages = 0;
};

class Witness {
 public:
  virtual ~Witness() = default;
  [[nodiscard]] virtual std::string_view id() const = 0;
  virtual void begin() = 0;
  /// Ways are this side's: kOut is what it sent. Called once, after begin().
  virtual std::vector<evidence::Observation> end(const Payload& payload) = 0;
};

using Witnesses = std::vector<std::unique_ptr<Witness>>;

/// Those that cost nothing while messages are timed: counters read before and after.
Witnesses freeWitnesses(const Scene& scene);

/// Those that may disturb: they run in a pass of their own (records of copies, CPU work).
Witnesses passWitnesses(const Scene& scene);

}  // namespace gdrbench::witness
