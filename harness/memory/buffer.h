// SPDX-License-Identifier: Apache-2.0
// A Buffer is memory that the harness allocated, in one memory space, cut into slots. Transports
// register it; they never allocate message memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace gdrbench {

enum class MemoryKind { kHost, kPinned, kCuda };

/// Where bytes live: "host", "pinned", "pinned:0", "cuda:0".
struct MemoryName {
  MemoryKind kind = MemoryKind::kHost;
  /// Of a GPU, as written: index, UUID or PCI address. cuda: that owns the bytes; pinned: whose
  /// NUMA node they lie on, empty for the other side's.
  std::string device;
  [[nodiscard]] std::string text() const;
  bool operator==(const MemoryName&) const = default;
};

/// How a buffer is cut. Data slots 0..count-1 are `stride` bytes apart; behind them lies one more
/// slot, for the messages with which the two sides keep in step: they never touch data that is
/// checked.
struct SlotLayout {
  static constexpr std::uint64_t kSyncBytes = 64;

  std::uint64_t stride = 0;  ///< multiple of 64
  std::uint32_t count = 0;   ///< data slots

  [[nodiscard]] std::uint32_t syncSlot() const noexcept { return count; }
  [[nodiscard]] std::uint64_t offsetOf(std::uint32_t slot) const noexcept { return slot * stride; }
  [[nodiscard]] std::uint64_t totalBytes() const noexcept { return count * stride + kSyncBytes; }
  bool operator==(const SlotLayout&) const = default;
};

/// Owns its memory and gives it back to its space when it goes.
class Buffer {
 public:
  using Release = std::function<void(std::byte*, std::uint64_t)>;

  Buffer(std::byte* data, std::uint64_t bytes, MemoryName memory, int numaNode, Release release)
      : data_(data),
        bytes_(bytes),
        memory_(std::move(memory)),
        numaNode_(numaNode),
        release_(std::move(release)) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        memory_(std::move(other.memory_)),
        numaNode_(other.numaNode_),
        release_(std::move(other.release_)) {}
  Buffer& operator=(Buffer&&) = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr && release_) release_(data_, bytes_);
  }

  /// An address in the space of its device: only host and pinned memory may be touched by the CPU.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const MemoryName& memory() const noexcept { return memory_; }
  [[nodiscard]] int numaNode() const noexcept { return numaNode_; }  ///< -1: unknown

 private:
  std::byte* data_;
  std::uint64_t bytes_;
  MemoryName memory_;
  int numaNode_;
  Release release_;
};

}  // namespace gdrbench
