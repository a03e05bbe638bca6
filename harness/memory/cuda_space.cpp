// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/cuda_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/core/units.h"
#include "harness/cuda/allocation.h"
#include "harness/cuda/data_kernels.h"
#include "harness/cuda/write_flush.h"

namespace gdrbench {
namespace {

class CudaSpace final : public MemorySpace {
 public:
  CudaSpace(MemoryName name, bool vmm, std::shared_ptr<const cuda::Device> device,
            cuda::DataKernels kernels)
      : name_(std::move(name)),
        vmm_(vmm),
        device_(std::move(device)),
        kernels_(std::move(kernels)),
        flush_(device_) {}

  Result<Buffer> allocate(std::uint64_t bytes) override {
    auto memory = cuda::Allocation::make(device_, bytes, vmm_);
    if (!memory) return memory.error();
    described_ = memory->describe();
    auto shared = std::make_shared<cuda::Allocation>(*std::move(memory));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
    auto* const address = reinterpret_cast<std::byte*>(shared->pointer());
    return Buffer(address, shared->bytes(), name_, -1,
                  [shared](std::byte*, std::uint64_t) mutable { shared.reset(); });
  }

  Status fill(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return kernels_.fill(onDevice(buffer, run, pattern), false);
  }

  Status poison(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) override {
    return kernels_.fill(onDevice(buffer, run, pattern), true);
  }

  Result<std::optional<DataFault>> verify(const Buffer& buffer, const SlotRun& run,
                                          const DataPattern& pattern) override {
    if (Status visible = flush_.run(); !visible) return visible.error();
    auto bad = kernels_.verify(onDevice(buffer, run, pattern));
    if (!bad) return bad.error();
    if (!*bad) return std::optional<DataFault>{};
    return describeFault(buffer, run, pattern, **bad);
  }

  [[nodiscard]] std::optional<std::string> cardWrites() const override { return flush_.describe(); }

  [[nodiscard]] std::string describe() const override {
    const cuda::Identity& gpu = device_->identity();
    return fmt::format("{} ({}, {}){}{}", name_.text(), gpu.name, gpu.pci,
                       described_.empty() ? "" : ", ", described_);
  }

 private:
  static cuda::SlotsOnDevice onDevice(const Buffer& buffer, const SlotRun& run,
                                      const DataPattern& pattern) {
    return {.slots = cuda::pointer(buffer.data() + run.layout.offsetOf(run.firstSlot)),
            .stride = run.layout.stride,
            .bytes = run.bytes,
            .count = run.count,
            .firstMessage = run.firstMessage,
            .mixedSeed = pattern.mixedSeed()};
  }

  /// The GPU says which message is wrong; the bytes of that one are looked at here.
  Result<std::optional<DataFault>> describeFault(const Buffer& buffer, const SlotRun& run,
                                                 const DataPattern& pattern, std::uint32_t index) {
    std::vector<std::byte> bytes(run.bytes);
    const std::byte* slot = buffer.data() + run.layout.offsetOf(run.firstSlot + index);
    if (Status copied = cuda::copyToHost(device_, bytes, cuda::pointer(slot)); !copied) {
      return copied.error();
    }
    auto fault = pattern.verify(bytes, run.firstMessage + index);
    if (fault) return fault;
    return Error{
        .code = ErrorCode::kData,
        .tried = "read a message twice from GPU memory",
        .nativeText = fmt::format("message {} was wrong when the GPU compared it and right "
                                  "when it was copied to the host",
                                  run.firstMessage + index)};
  }

  MemoryName name_;
  bool vmm_;
  std::shared_ptr<const cuda::Device> device_;
  cuda::DataKernels kernels_;
  cuda::WriteFlush flush_;
  std::string described_;
};

Status fits(const cuda::Device& device, const MemoryName& name, const MemoryRequest& request) {
  const bool sameGpu = request.peer == name;
  const std::uint64_t wanted = sameGpu ? request.bothBytes : request.ownBytes;
  std::size_t free = 0;
  std::size_t total = 0;
  if (const auto code = device.cuda().memoryInfo(&free, &total); code != cuda::kSuccess) {
    return cuda::error("ask how much GPU memory is free", code);
  }
  if (wanted <= free) return Done{};
  return Error{.code = ErrorCode::kNoMemory,
               .tried = fmt::format("get {} of memory on GPU {} ({})", formatSize(wanted),
                                    device.identity().ordinal, device.identity().pci),
               .nativeText = fmt::format("{} of {} bytes are free there", free, total),
               .next = "use smaller sizes or a smaller window, or see who else uses that GPU"};
}

}  // namespace

Result<std::unique_ptr<MemorySpace>> openCudaSpace(const MemoryName& name,
                                                   const MemoryRequest& request) {
  auto device = cuda::openDevice(name.device);
  if (!device) return device.error();
  if (Status enough = fits(**device, name, request); !enough) return enough.error();
  auto kernels = cuda::DataKernels::load(*device);
  if (!kernels) return kernels.error();
  return std::unique_ptr<MemorySpace>(
      new CudaSpace(name, request.vmm, *std::move(device), *std::move(kernels)));
}

}  // namespace gdrbench
