// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gdrbench::cuda_copy {

Bytes toBytes(const Address& address) {
  Bytes bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

Result<Address> addressFrom(std::span<const std::byte> bytes, Role writer, MemoryKind kind,
                            const SlotLayout& layout) {
  Address address;
  const bool whole = bytes.size() == sizeof address;
  if (whole) std::memcpy(&address, bytes.data(), sizeof address);
  const bool ended =
      std::find(std::begin(address.pci), std::end(address.pci), '\0') != std::end(address.pci);
  if (!whole || address.magic != Address::kMagic || !address.pair.isOf(writer) || !ended) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("read the {}'s address: it is not one of a cuda_copy {}",
                                      name(writer), name(writer))};
  }
  if (address.kind != kind || address.bytes < layout.totalBytes()) {
    return Error{.code = ErrorCode::kMismatch,
                 .tried = fmt::format("use the {}'s target buffer: it is of another kind or size "
                                      "than the plan says",
                                      name(writer))};
  }
  return address;
}

}  // namespace gdrbench::cuda_copy
