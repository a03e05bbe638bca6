// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/wire.h"

#include <utility>

namespace gdrbench::staged {

Result<std::unique_ptr<Wire>> Wire::open(Transport& transport, const OpenRequest& request,
                                         const std::shared_ptr<const cuda::Device>& device) {
  const std::uint64_t bytes = request.lane.layout.totalBytes();
  auto source = cuda::PinnedBuffer::allocate(device, bytes, device->identity().numaNode);
  if (!source) return source.error();
  auto target = cuda::PinnedBuffer::allocate(device, bytes, device->identity().numaNode);
  if (!target) return target.error();
  auto endpoint = transport.open(request);
  if (!endpoint) return endpoint.error();
  std::unique_ptr<Wire> wire(
      new Wire(*std::move(source), *std::move(target), *std::move(endpoint)));
  for (auto [memory, region] : {std::pair(&wire->source_, &wire->sourceRegion_),
                                std::pair(&wire->target_, &wire->targetRegion_)}) {
    auto made = wire->enlist(*memory);
    if (!made) return made.error();
    *region = *std::move(made);
  }
  return wire;
}

Wire::Wire(cuda::PinnedBuffer source, cuda::PinnedBuffer target, std::unique_ptr<Endpoint> endpoint)
    : source_(std::move(source)), target_(std::move(target)), endpoint_(std::move(endpoint)) {}

/// The buffer is a view: registering keeps the address, and the memory stays with the Wire.
Result<std::unique_ptr<MemoryRegion>> Wire::enlist(const cuda::PinnedBuffer& memory) {
  return endpoint_->registerMemory(
      Buffer(memory.data(), memory.bytes(), {MemoryKind::kPinned, {}}, memory.numaNode(), {}));
}

}  // namespace gdrbench::staged
