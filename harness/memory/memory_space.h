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
  virtual void fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) = 0;

  /// Writes into each slot bytes of which every one differs from the pattern, so that a byte
  /// that never arrives cannot look right (the receiver's side).
  virtual void poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) = 0;

  /// Compares every byte of every message; the first fault found, or nothing.
  virtual std::optional<DataFault> verify(const Buffer& buffer, const SlotRun& run,
                                          const DataPattern& pattern) = 0;

  /// What this memory is, for the report: "host, 4 KiB pages, NUMA node 0".
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// "host", "pinned", "cuda:0"; an error lists what there is.
Result<MemoryName> parseMemoryName(std::string_view text);

/// `footprint`: all bytes that both sides of a pair will allocate on this host; compared with what
/// the machine (and its control group) has left before anything is touched.
Result<std::unique_ptr<MemorySpace>> openMemorySpace(const MemoryName& name,
                                                     std::uint64_t footprint);

}  // namespace gdrbench
