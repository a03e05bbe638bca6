// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/allocation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "harness/core/units.h"

namespace gdrbench::cuda {
namespace {

/// The GPU's large page: smaller allocations share one with others, and their handles and
/// registrations then cover memory that is not theirs.
constexpr std::uint64_t kPage = 2u << 20;

AllocationProperties propertiesOf(const Device& device) {
  AllocationProperties properties;
  properties.requestedHandleTypes = 1;
  properties.location.id = device.handle();
  properties.allocFlags.gpuDirectRDMACapable =
      device.attribute(kGpuDirectRdmaWithVmmSupported) != 0 ? 1 : 0;
  return properties;
}

/// Mapped memory can be used by its own GPU and by all that reach it as peers.
std::vector<AccessDescriptor> everyReader(const Device& device) {
  std::vector<AccessDescriptor> readers;
  int count = 0;
  device.cuda().deviceCount(&count);
  for (int i = 0; i < count; ++i) {
    int can = i == device.handle() ? 1 : 0;
    if (can == 0) device.cuda().canAccessPeer(&can, i, device.handle());
    if (can != 0) readers.push_back({.location = {.id = i}});
  }
  return readers;
}

/// On a stream of its own: the default stream waits for others.
Status copyNow(std::shared_ptr<const Device> device, DevicePointer destination,
               DevicePointer source, std::uint64_t bytes, const char* what) {
  const Api& cuda = device->cuda();
  auto stream = Stream::make(std::move(device));
  if (!stream) return stream.error();
  for (const Code code : {cuda.copyAsync(destination, source, bytes, stream->get()),
                          cuda.streamSynchronize(stream->get())}) {
    if (code != kSuccess) return error(what, code);
  }
  return Done{};
}

}  // namespace

Result<Allocation> Allocation::make(std::shared_ptr<const Device> device, std::uint64_t bytes,
                                    bool vmm) {
  if (Status current = device->makeCurrent(); !current) return current.error();
  const std::uint64_t rounded = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  Allocation made(std::move(device), rounded, vmm);
  if (Status done = vmm ? made.createAndMap() : made.allocate(); !done) return done.error();
  if (Status read = made.readBack(); !read) return read.error();
  return made;
}

Status Allocation::allocate() {
  const Api& cuda = device_->cuda();
  if (const Code code = cuda.allocate(&pointer_, bytes_); code != kSuccess) {
    return error(fmt::format("allocate {} on GPU {}", formatSize(bytes_), device_->identity().pci),
                 code, "use smaller sizes or a smaller window");
  }
  // Copies of the driver and of a network card on the same bytes must not overtake each other.
  const int yes = 1;
  if (const Code code = cuda.pointerSet(&yes, kSyncMemops, pointer_); code != kSuccess) {
    return error("set CU_POINTER_ATTRIBUTE_SYNC_MEMOPS", code);
  }
  return Done{};
}

Status Allocation::createAndMap() {
  const Api& cuda = device_->cuda();
  const AllocationProperties properties = propertiesOf(*device_);
  const std::string what =
      fmt::format("create {} of memory on GPU {}", formatSize(bytes_), device_->identity().pci);
  AllocationHandle handle = 0;
  if (const Code code = cuda.create(&handle, bytes_, &properties, 0); code != kSuccess) {
    return error(what, code, "use smaller sizes or a smaller window");
  }
  Code code = cuda.reserve(&pointer_, bytes_, kPage, 0, 0);
  if (code == kSuccess) {
    code = cuda.map(pointer_, bytes_, 0, handle, 0);
    if (code != kSuccess) cuda.freeReserved(std::exchange(pointer_, 0), bytes_);
  }
  cuda.releaseHandle(handle);  // the mapping keeps the memory
  if (code != kSuccess) return error(what, code);
  const std::vector<AccessDescriptor> readers = everyReader(*device_);
  code = cuda.setAccess(pointer_, bytes_, readers.data(), readers.size());
  if (code != kSuccess) return error(what + " and make it accessible", code);
  return Done{};
}

Status Allocation::readBack() {
  const Api& cuda = device_->cuda();
  unsigned type = 0;
  int ordinal = -1;
  int syncMemops = 0;
  for (const Code code : {cuda.pointerGet(&type, kMemoryType, pointer_),
                          cuda.pointerGet(&ordinal, kDeviceOrdinal, pointer_)}) {
    if (code != kSuccess) return error("ask what the driver made of an allocation", code);
  }
  cuda.pointerGet(&syncMemops, kSyncMemops, pointer_);
  constexpr unsigned kDeviceMemory = 2;
  if (type != kDeviceMemory || ordinal != device_->identity().ordinal) {
    return Error{
        .code = ErrorCode::kInternal,
        .tried = fmt::format("get memory of GPU {}", device_->identity().ordinal),
        .nativeText = fmt::format("the driver says: memory type {}, device {}", type, ordinal)};
  }
  facts_ = fmt::format("{}, {}{}{}", vmm_ ? "cuMemCreate" : "cuMemAlloc", formatSize(bytes_),
                       syncMemops != 0 ? ", sync memops" : "",
                       vmm_ && device_->attribute(kGpuDirectRdmaWithVmmSupported) != 0
                           ? ", gpuDirectRDMACapable"
                           : "");
  return Done{};
}

Allocation::~Allocation() {
  if (pointer_ == 0) return;
  const Api& cuda = device_->cuda();
  (void)device_->makeCurrent();
  if (!vmm_) {
    cuda.free(pointer_);
    return;
  }
  cuda.unmap(pointer_, bytes_);
  cuda.freeReserved(pointer_, bytes_);
}

Status copyToHost(std::shared_ptr<const Device> device, std::span<std::byte> destination,
                  DevicePointer source) {
  return copyNow(std::move(device), pointer(destination.data()), source, destination.size(),
                 "copy from GPU to host memory");
}

Status copyFromHost(std::shared_ptr<const Device> device, DevicePointer destination,
                    std::span<const std::byte> source) {
  return copyNow(std::move(device), destination, pointer(source.data()), source.size(),
                 "copy from host to GPU memory");
}

Result<DmaBuf> DmaBuf::exportFrom(const Device& device, DevicePointer pointer, std::uint64_t bytes,
                                  bool pcieMapping) {
  if (device.cuda().rangeHandle == nullptr || device.attribute(kDmaBufSupported) == 0) {
    return Error{
        .code = ErrorCode::kUnsupported,
        .tried = "export a dma-buf of GPU memory",
        .nativeText = device.cuda().rangeHandle == nullptr
                          ? "the driver has no cuMemGetHandleForAddressRange"
                          : "the GPU's driver says CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED 0",
        .next = "use the open kernel modules of the NVIDIA driver and Linux 5.12 or newer"};
  }
  if (Status current = device.makeCurrent(); !current) return current.error();
  int fd = -1;
  const Code code = device.cuda().rangeHandle(&fd, pointer, bytes, kDmaBufHandle,
                                              pcieMapping ? kDmaBufPcieMapping : 0);
  if (code != kSuccess) {
    return error(fmt::format("export {} of GPU memory as a dma-buf{}", formatSize(bytes),
                             pcieMapping ? " mapped through PCIe" : ""),
                 code);
  }
  return DmaBuf(fd);
}

DmaBuf::~DmaBuf() {
  if (fd_ >= 0) close(fd_);
}

std::string DmaBuf::describe() const {
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", fd_));
  std::string line;
  std::string text;
  while (std::getline(file, line)) {
    for (const std::string_view key : {"size:", "exp_name:"}) {
      if (!line.starts_with(key)) continue;
      std::replace(line.begin(), line.end(), '\t', ' ');
      text += (text.empty() ? "" : ", ") + line;
    }
  }
  return text.empty() ? "unknown (fdinfo names neither size nor exporter)" : text;
}

}  // namespace gdrbench::cuda
