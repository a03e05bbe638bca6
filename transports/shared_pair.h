// SPDX-License-Identifier: Apache-2.0
// Memory that the two sides of one host share: a header and a ring for each direction. It has no
// name: the responder creates it as a memfd, the initiator opens it through /proc, and it is gone
// when both sides are, however they end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "transports/cookie.h"
#include "transports/fifo.h"
#include "transports/transport.h"

namespace gdrbench {

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

  /// What the initiator says: nothing but who it is, for it is the one that opens the other's
  /// memory.
  static PairAddress ofInitiator() { return {}; }
  /// It was written by the side of that role.
  [[nodiscard]] bool isOf(Role writer) const;
};

class SharedPair {
 public:
  /// `transport` stands in errors. `fifoBytes`: of each ring, a power of two.
  static Result<std::shared_ptr<SharedPair>> create(std::string_view transport,
                                                    std::uint64_t fifoBytes);
  static Result<std::shared_ptr<SharedPair>> attach(std::string_view transport,
                                                    const PairAddress& address);
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
  static Result<std::shared_ptr<SharedPair>> map(std::string_view transport, Role role, int fd,
                                                 const PairAddress& address);
  [[nodiscard]] Header& header() const noexcept;
  [[nodiscard]] std::byte* ring(Role sender) const noexcept;

  Role role_;
  int fd_;
  std::byte* memory_;
  PairAddress address_;
};

}  // namespace gdrbench
