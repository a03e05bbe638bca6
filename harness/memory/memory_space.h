// SPDX-License-Identifier: Apache-2.0
// A MemorySpace allocates buffers in one kind of memory, fills them with the data pattern, and
// checks them, on the device that owns the bytes. Used between timed sections only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/core/result.h"
#include "harness/memory/buffer.h"
#include "harness/memory/data_pattern.h"

namespace gdrbench {

/// A run of messages that lie in consecutive data slots: message `firstMessage + i` in slot
/// `firstSlot + i`, `bytes` bytes each.
struct SlotRun {
  SlotLayout layout;
  std::uint32_t firstSlot = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t firstMessage = 0;
};

class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  /// Memory of at least `bytes` bytes, touched (no page fault is left for the timed part), its
  /// content unspecified. kNoMemory, with what was asked and what there is, when it does not fit.
  virtual Result<Buffer> allocate(std::uint64_t bytes) = 0;

  /// Writes each message's pattern into its slot (the sender's side).
  virtual Status fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) = 0;

  /// Writes into each slot bytes of which every one differs from the pattern, so that a byte
  /// that never arrives cannot look right (the receiver's side).
  virtual Status poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) = 0;

  /// Compares every byte of every message; the first fault found, or nothing. An Error when the
  /// comparison itself could not be made.
  virtual Result<std::optional<DataFault>> verify(const Buffer& buffer, const SlotRun& run,
                                                  const DataPattern& pattern) = 0;

  /// What becomes of writes of a network card before they are checked, with the time that it took
  /// so far; nothing where that is no question.
  [[nodiscard]] virtual std::optional<std::string> cardWrites() const { return {}; }

  /// What this memory is, for the report: "host, 4 KiB pages, NUMA node 0".
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// "host", "pinned", "pinned:0", "cuda:0"; an error lists what there is.
Result<MemoryName> parseMemoryName(std::string_view text);

struct MemoryRequest {
  /// What this side and what both sides of a pair on this host will allocate; compared with what
  /// there is (on the machine, in its control group, on the GPU) before anything is touched.
  std::uint64_t ownBytes = 0, bothBytes = 0;
  /// Of the other side: its GPU is the one that pinned memory lies near when it names none.
  MemoryName peer;
  bool vmm = false;  ///< CUDA memory by cuMemCreate instead of cuMemAlloc
};

Result<std::unique_ptr<MemorySpace>> openMemorySpace(const MemoryName& name,
                                                     const MemoryRequest& request);

}  // namespace gdrbench
