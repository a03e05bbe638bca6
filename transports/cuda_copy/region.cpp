// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/region.h"

#include <fmt/format.h>

namespace gdrbench::cuda_copy {
namespace {

constexpr int kHostMemory = 1;

/// What the driver says of an address; `otherwise` where it does not know it.
template <class T>
T attributeOf(const cuda::Api& cuda, cuda::PointerAttribute which, cuda::DevicePointer pointer,
              T otherwise) {
  T value = otherwise;
  return cuda.pointerGet(&value, which, pointer) == cuda::kSuccess ? value : otherwise;
}

}  // namespace

Result<std::unique_ptr<MemoryRegion>> Region::of(const cuda::Device& device, const Buffer& buffer) {
  if (Status current = device.makeCurrent(); !current) return current.error();
  const cuda::DevicePointer pointer = cuda::pointer(buffer.data());
  const MemoryKind kind = buffer.memory().kind;
  if (kind == MemoryKind::kCuda) {
    const int owner = attributeOf(device.cuda(), cuda::kDeviceOrdinal, pointer, -1);
    if (owner != device.identity().ordinal) {
      return Error{.code = ErrorCode::kInternal,
                   .tried = fmt::format("use {} memory for a copy on GPU {}: the driver says that "
                                        "it belongs to GPU {}",
                                        buffer.memory().text(), device.identity().ordinal, owner)};
    }
  }
  const bool pinned = kind != MemoryKind::kCuda &&
                      attributeOf(device.cuda(), cuda::kMemoryType, pointer, 0) == kHostMemory;
  return std::unique_ptr<MemoryRegion>(new Region(pointer, buffer.bytes(), kind, pinned));
}

// A handle names a whole allocation, and opening it answers the start of that: a buffer may begin
// behind it.
Status exportTo(Address& address, const cuda::Device& device) {
  const cuda::Api& cuda = device.cuda();
  if (Status current = device.makeCurrent(); !current) return current.error();
  const cuda::DevicePointer start =
      attributeOf(cuda, cuda::kRangeStart, address.target, cuda::DevicePointer{address.target});
  if (const cuda::Code code = cuda.ipcGet(&address.handle, start); code != cuda::kSuccess) {
    return cuda::error(
        fmt::format("share memory of GPU {} with another process", device.identity().pci), code,
        "use memory of cuMemAlloc, which has IPC handles, or run both sides in one process");
  }
  address.offset = address.target - start;
  address.exported = true;
  return Done{};
}

Result<std::unique_ptr<Import>> Import::open(std::shared_ptr<const cuda::Device> device,
                                             const Address& address) {
  if (!address.exported) {
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "map the peer's target buffer: it gave no handle for it",
                 .next = "run both sides with the same build of gdrbench"};
  }
  if (Status current = device->makeCurrent(); !current) return current.error();
  cuda::DevicePointer base = 0;
  const cuda::Code code = device->cuda().ipcOpen(&base, address.handle, cuda::kIpcLazyPeerAccess);
  if (code != cuda::kSuccess) {
    return cuda::error(fmt::format("open the peer's target buffer, memory of GPU {}, on GPU {}",
                                   address.pci, device->identity().pci),
                       code,
                       "see whether the peer is still there, and whether both sides run in one "
                       "PID and IPC namespace");
  }
  return std::unique_ptr<Import>(new Import(std::move(device), base, address.offset));
}

Import::~Import() {
  if (device_->makeCurrent().ok()) device_->cuda().ipcClose(base_);
}

}  // namespace gdrbench::cuda_copy
