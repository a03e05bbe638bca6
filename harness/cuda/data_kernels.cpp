// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/data_kernels.h"

#include <algorithm>

#include "harness/cuda/data_kernels_ptx.h"

namespace gdrbench::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// Enough blocks to fill any GPU; each thread then strides over what is left.
constexpr std::uint64_t kMostBlocks = 4096;
constexpr std::uint32_t kMostRows = 65535;
constexpr std::uint32_t kNoneBad = ~std::uint32_t{0};

/// A small message needs one block, not one thread for each of its words in a grid of thousands.
unsigned blocksFor(const SlotsOnDevice& slots) {
  constexpr std::uint64_t kBytesPerBlock = std::uint64_t{kThreads} * 16 * 4;
  const std::uint64_t wanted = (slots.bytes + kBytesPerBlock - 1) / kBytesPerBlock;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, kMostBlocks));
}

}  // namespace

Result<DataKernels> DataKernels::load(std::shared_ptr<const Device> device) {
  auto stream = Stream::make(device);
  if (!stream) return stream.error();
  DataKernels kernels(std::move(device), *std::move(stream));
  const Api& cuda = kernels.device_->cuda();
  if (const Code code = cuda.moduleLoad(&kernels.module_, kDataKernelsPtx); code != kSuccess) {
    return error("load the data kernels", code,
                 "gdrbench checks data on GPUs of compute capability 7.0 and newer");
  }
  for (const Code code : {cuda.moduleFunction(&kernels.fill_, kernels.module_, "gdrbench_fill"),
                          cuda.moduleFunction(&kernels.verify_, kernels.module_, "gdrbench_verify"),
                          cuda.allocate(&kernels.firstBad_, sizeof(std::uint32_t))}) {
    if (code != kSuccess) return error("prepare the data kernels", code);
  }
  return kernels;
}

DataKernels::DataKernels(DataKernels&& other) noexcept
    : device_(std::move(other.device_)),
      stream_(std::move(other.stream_)),
      module_(std::exchange(other.module_, nullptr)),
      fill_(other.fill_),
      verify_(other.verify_),
      firstBad_(std::exchange(other.firstBad_, 0)) {}

DataKernels::~DataKernels() {
  if (firstBad_ != 0) device_->cuda().free(firstBad_);
  if (module_ != nullptr) device_->cuda().moduleUnload(module_);
}

Status DataKernels::fill(const SlotsOnDevice& slots, bool inverted) {
  SlotsOnDevice s = slots;
  std::uint64_t inversion = inverted ? ~std::uint64_t{0} : 0;
  void* arguments[] = {&s.slots,        &s.stride,    &s.bytes,  &s.count,
                       &s.firstMessage, &s.mixedSeed, &inversion};
  if (Status launched = launch(fill_, s, arguments); !launched) return launched;
  if (const Code code = device_->cuda().streamSynchronize(stream_.get()); code != kSuccess) {
    return error("fill GPU memory with the data pattern", code);
  }
  return Done{};
}

Result<std::optional<std::uint32_t>> DataKernels::verify(const SlotsOnDevice& slots) {
  SlotsOnDevice s = slots;
  const Api& cuda = device_->cuda();
  std::uint32_t firstBad = kNoneBad;
  const auto onHost = reinterpret_cast<DevicePointer>(&firstBad);
  if (const Code code = cuda.copyAsync(firstBad_, onHost, sizeof firstBad, stream_.get());
      code != kSuccess) {
    return error("prepare the check of GPU memory", code);
  }
  void* arguments[] = {&s.slots,        &s.stride,    &s.bytes,  &s.count,
                       &s.firstMessage, &s.mixedSeed, &firstBad_};
  if (Status launched = launch(verify_, s, arguments); !launched) return launched.error();
  for (const Code code : {cuda.copyAsync(onHost, firstBad_, sizeof firstBad, stream_.get()),
                          cuda.streamSynchronize(stream_.get())}) {
    if (code != kSuccess) return error("check GPU memory against the data pattern", code);
  }
  if (firstBad == kNoneBad) return std::optional<std::uint32_t>{};
  return std::optional(firstBad);
}

Status DataKernels::launch(Function kernel, const SlotsOnDevice& slots, void** arguments) {
  if (slots.count == 0) return Done{};
  const unsigned rows = std::min(slots.count, kMostRows);
  const Code code = device_->cuda().launch(kernel, blocksFor(slots), rows, 1, kThreads, 1, 1, 0,
                                           stream_.get(), arguments, nullptr);
  if (code != kSuccess) return error("launch a data kernel", code);
  return Done{};
}

}  // namespace gdrbench::cuda
