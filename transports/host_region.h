// SPDX-License-Identifier: Apache-2.0
// A "registered" buffer for transports that only need its address: the CPU copies the bytes.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace gdrbench {

class HostRegion final : public MemoryRegion {
 public:
  HostRegion(std::byte* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// The region behind the interface, if it holds the whole layout. Only for regions that
  /// registerHostMemory made.
  static Result<HostRegion*> of(MemoryRegion& region, const SlotLayout& layout) {
    auto& host = static_cast<HostRegion&>(region);
    if (host.bytes_ < layout.totalBytes()) {
      return Error{.code = ErrorCode::kInternal,
                   .tried = "use a buffer of " + std::to_string(host.bytes_) +
                            " bytes for slots of " + std::to_string(layout.totalBytes()) +
                            " bytes in all"};
    }
    return &host;
  }

 private:
  std::byte* data_;
  std::uint64_t bytes_;
};

inline Result<std::unique_ptr<MemoryRegion>> registerHostMemory(std::string_view transport,
                                                                const Buffer& buffer) {
  if (buffer.memory().kind == MemoryKind::kCuda) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "use " + buffer.memory().text() + " memory with transport " +
                          std::string(transport) + ": the CPU copies the bytes",
                 .next = "use host or pinned memory, or the staged path"};
  }
  std::unique_ptr<MemoryRegion> region =
      std::make_unique<HostRegion>(buffer.data(), buffer.bytes());
  return region;
}

}  // namespace gdrbench
