// SPDX-License-Identifier: Apache-2.0
// One lane of the transport underneath, between pinned buffers that belong to it.
#pragma once

#include <memory>
#include <vector>

#include "harness/cuda/pinned.h"
#include "transports/transport.h"

namespace gdrbench::staged {

class Wire {
 public:
  /// `request`: of the transport underneath. Its layout says how large the buffers are.
  static Result<std::unique_ptr<Wire>> open(Transport& transport, const OpenRequest& request,
                                            const std::shared_ptr<const cuda::Device>& device);

  Result<Bytes> address() { return endpoint_->address(*sourceRegion_, *targetRegion_); }
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peer, Deadline deadline) {
    return endpoint_->connect(peer, *sourceRegion_, *targetRegion_, deadline);
  }

  [[nodiscard]] std::byte* source() const noexcept { return source_.data(); }
  [[nodiscard]] std::byte* target() const noexcept { return target_.data(); }
  [[nodiscard]] int numaNode() const noexcept { return source_.numaNode(); }
  [[nodiscard]] std::vector<Claim> claims() const { return endpoint_->claims(); }

 private:
  Wire(cuda::PinnedBuffer source, cuda::PinnedBuffer target, std::unique_ptr<Endpoint> endpoint);
  Result<std::unique_ptr<MemoryRegion>> enlist(const cuda::PinnedBuffer& memory);

  cuda::PinnedBuffer source_, target_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<MemoryRegion> sourceRegion_, targetRegion_;
};

}  // namespace gdrbench::staged
