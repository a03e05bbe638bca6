// SPDX-License-Identifier: Apache-2.0
// The memory that the two sides of a loopback share: a header and two rings. It has no name: the
// responder creates it as a memfd, the initiator opens it through /proc, and it is gone when both
// sides are, however they end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "transports/cookie.h"
#include "transports/loopback/fifo.h"
#include "transports/transport.h"

namespace gdrbench::loopback {

/// What the responder says to the initiator, as bytes.
struct PairAddress {
  static constexpr std::uint32_t kMagic = 0x6c726467;  // "gdrl"
  std::uint32_t magic = kMagic;
  std::uint32_t role = 0;
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t fifoBytes = 0;
  Cookie cookie{};
  [[nodiscard]] std::string path() const;  ///< "/proc/123/fd/4"
};

class SharedPair {
 public:
  static Result<std::shared_ptr<SharedPair>> create(std::uint64_t fifoBytes);
  static Result<std::shared_ptr<SharedPair>> attach(const PairAddress& address);
  ~SharedPair();
  SharedPair(const SharedPair&) = delete;
  SharedPair& operator=(const SharedPair&) = delete;

  /// The responder's, on both sides.
  [[nodiscard]] const PairAddress& address() const noexcept { return address_; }
  [[nodiscard]] std::uint64_t fifoBytes() const noexcept { return address_.fifoBytes; }

  /// Says that this side is there, and waits until the other is.
  Status meet(Deadline deadline);

  void close() noexcept;
  [[nodiscard]] bool peerClosed() const noexcept;

  [[nodiscard]] FifoWriter writer() noexcept;
  [[nodiscard]] FifoReader reader() noexcept;

 private:
  struct Header;
  SharedPair(Role role, int fd, std::byte* memory, const PairAddress& address);
  static Result<std::shared_ptr<SharedPair>> map(Role role, int fd, const PairAddress& address);
  [[nodiscard]] Header& header() const noexcept;
  [[nodiscard]] std::byte* ring(Role sender) const noexcept;

  Role role_;
  int fd_;
  std::byte* memory_;
  PairAddress address_;
};

}  // namespace gdrbench::loopback
