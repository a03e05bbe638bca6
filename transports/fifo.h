// SPDX-License-Identifier: Apache-2.0
// A byte ring in shared memory with one writer and one reader. What is written comes in multiples
// of kUnit bytes, so that a header never wraps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gdrbench {

/// The shared part. Each side writes one of the counters only, on a cache line of its own.
struct FifoCounters {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint64_t kUnit = 16;

inline constexpr std::uint64_t padded(std::uint64_t bytes) noexcept {
  return (bytes + kUnit - 1) & ~(kUnit - 1);
}

class FifoWriter {
 public:
  FifoWriter(FifoCounters& counters, std::byte* data, std::uint64_t size)
      : counters_(counters), data_(data), size_(size) {}

  /// Bytes that can be put, as of the last look.
  [[nodiscard]] std::uint64_t room() const noexcept { return size_ - (written_ - seenRead_); }
  /// Takes in what the reader has freed. Costs a cache miss whenever it has.
  void look() noexcept { seenRead_ = counters_.read.load(std::memory_order_acquire); }

  /// At most room() bytes; padding follows. The reader sees nothing of it before publish().
  void put(const void* from, std::uint64_t bytes) noexcept {
    const std::uint64_t at = written_ & (size_ - 1);
    const std::uint64_t head = std::min(bytes, size_ - at);
    std::memcpy(data_ + at, from, head);
    if (head != bytes) {
      std::memcpy(data_, static_cast<const std::byte*>(from) + head, bytes - head);
    }
    written_ += padded(bytes);
  }
  void publish() noexcept { counters_.written.store(written_, std::memory_order_release); }

 private:
  FifoCounters& counters_;
  std::byte* data_;
  std::uint64_t size_;  // power of two
  std::uint64_t written_ = 0, seenRead_ = 0;
};

class FifoReader {
 public:
  FifoReader(FifoCounters& counters, const std::byte* data, std::uint64_t size)
      : counters_(counters), data_(data), size_(size) {}

  /// Bytes that can be taken, as of the last look; padding included.
  [[nodiscard]] std::uint64_t available() const noexcept { return seenWritten_ - read_; }
  void look() noexcept { seenWritten_ = counters_.written.load(std::memory_order_acquire); }

  /// At most available() bytes; skips the padding that follows.
  void take(void* to, std::uint64_t bytes) noexcept {
    const std::uint64_t at = read_ & (size_ - 1);
    const std::uint64_t head = std::min(bytes, size_ - at);
    std::memcpy(to, data_ + at, head);
    if (head != bytes) std::memcpy(static_cast<std::byte*>(to) + head, data_, bytes - head);
    read_ += padded(bytes);
  }
  /// Gives what was taken back to the writer.
  void publish() noexcept { counters_.read.store(read_, std::memory_order_release); }

 private:
  FifoCounters& counters_;
  const std::byte* data_;
  std::uint64_t size_;  // power of two
  std::uint64_t read_ = 0, seenWritten_ = 0;
};

}  // namespace gdrbench
