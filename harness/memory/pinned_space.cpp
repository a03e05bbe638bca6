// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/pinned_space.h"

#include <fmt/format.h>

#include <optional>

#include "harness/cuda/pinned.h"
#include "harness/memory/host_slots.h"
#include "harness/memory/host_space.h"

namespace gdrbench {
namespace {

class PinnedSpace final : public MemorySpace {
 public:
  PinnedSpace(MemoryName name, std::shared_ptr<const cuda::Device> near)
      : name_(std::move(name)), near_(std::move(near)) {}

  Result<Buffer> allocate(std::uint64_t bytes) override {
    if (auto error = hostShortage(bytes, "")) return *std::move(error);
    auto pinned = cuda::PinnedBuffer::allocate(near_, bytes, near_->identity().numaNode);
    if (!pinned) return pinned.error();
    node_ = pinned->numaNode();
    auto shared = std::make_shared<cuda::PinnedBuffer>(*std::move(pinned));
    return Buffer(shared->data(), shared->bytes(), name_, *node_,
                  [shared](std::byte*, std::uint64_t) mutable { shared.reset(); });
  }

  Status fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return fillOnHost(buffer, run, pattern);
  }
  Status poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return poisonOnHost(buffer, run, pattern);
  }
  Result<std::optional<DataFault>> verify(const Buffer& buffer, const SlotRun& run,
                                          const DataPattern& pattern) override {
    return verifyOnHost(buffer, run, pattern);
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = fmt::format("pinned host memory near GPU {} ({})", near_->identity().ordinal,
                                   near_->identity().pci);
    if (!node_) return text;
    return text + (*node_ < 0 ? ", NUMA node unknown" : fmt::format(", NUMA node {}", *node_));
  }

 private:
  MemoryName name_;
  std::shared_ptr<const cuda::Device> near_;
  std::optional<int> node_;  ///< of the last buffer
};

std::string_view nearest(const MemoryName& name, const MemoryRequest& request) {
  if (!name.device.empty()) return name.device;
  if (!request.peer.device.empty()) return request.peer.device;
  return "0";
}

}  // namespace

Result<std::unique_ptr<MemorySpace>> openPinnedSpace(const MemoryName& name,
                                                     const MemoryRequest& request) {
  auto near = cuda::openDevice(nearest(name, request));
  if (!near) return near.error();
  if (auto error = hostShortage(request.bothBytes, " for both sides")) return *std::move(error);
  return std::unique_ptr<MemorySpace>(new PinnedSpace(name, *std::move(near)));
}

}  // namespace gdrbench
