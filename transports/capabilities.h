// SPDX-License-Identifier: Apache-2.0
// What a transport can do with given options, as plain data. The harness asks here and nowhere
// else: it knows no transport by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/memory/buffer.h"

namespace gdrbench {

/// Who moves the bytes of a data slot.
enum class DataFlow {
  kPush,  ///< the sender's submit moves them (send, write)
  kPull,  ///< the receiver's expect fetches them (read): a latency is the full operation
  kNone,  ///< nobody: the null transport
};

/// How a transport is timed.
enum class Drive {
  kHost,    ///< the CPU stamps, submits, polls until the event, stamps
  kStream,  ///< the device stamps in its own order: lanes offer Lane::streamDrive()
};
std::string_view name(Drive drive);

struct Capabilities {
  std::vector<MemoryKind> memory;  ///< kinds whose addresses it takes
  DataFlow flow = DataFlow::kPush;
  Drive drive = Drive::kHost;
  /// CUDA memory must come from the driver's virtual memory management (cuMemCreate): the library
  /// registers no other.
  bool needsVmm = false;
  /// Both sides must be threads of one process.
  bool oneProcess = false;
  /// The library moves nothing while the other side's process stands still, whatever the path.
  bool peerMustRun = false;
  /// The process that moves a message has the other side's memory mapped, and so can take the bytes
  /// through the host without any software of the other side.
  bool mapsPeer = false;
  /// The operation that moves a message, in the field's words: "send", "write with CQ data",
  /// "read".
  std::string operation;
};

}  // namespace gdrbench
