// SPDX-License-Identifier: Apache-2.0
// What one side tells the other: where its target buffer is, and how to map it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "harness/cuda/api.h"
#include "transports/shared_pair.h"

namespace gdrbench::cuda_copy {

struct Address {
  static constexpr std::uint32_t kMagic = 0x63726467;  // "gdrc"
  std::uint32_t magic = kMagic;
  MemoryKind kind = MemoryKind::kHost;
  PairAddress pair;          ///< of the memory in which tickets travel
  std::int32_t pid = 0;      ///< whose address space `target` is in
  std::uint64_t target = 0;  ///< the buffer
  std::uint64_t bytes = 0;   ///< its size
  std::uint64_t offset = 0;  ///< of the buffer in the allocation that `handle` names
  bool exported = false;     ///< there is a handle
  cuda::IpcMemoryHandle handle{};
  bool pinned = false;  ///< host memory that the driver knows
  char pci[32] = {};    ///< of the GPU that owns it; empty for host memory
};
static_assert(std::is_trivially_copyable_v<Address>);

Bytes toBytes(const Address& address);

/// `writer`: whose address it must be. Everything that is used later has been looked at.
Result<Address> addressFrom(std::span<const std::byte> bytes, Role writer, MemoryKind kind,
                            const SlotLayout& layout);

}  // namespace gdrbench::cuda_copy
