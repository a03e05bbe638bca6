// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/stream_counter.h"

#include <utility>

namespace gdrbench::cuda {
namespace {

constexpr std::uint32_t kTrial = 0x5a5a5a5a;

Error refused(Code code) {
  return error("let a stream count in host memory (cuStreamWriteValue32)", code);
}

}  // namespace

Result<StreamCounter> StreamCounter::make(const std::shared_ptr<const Device>& device,
                                          StreamHandle stream) {
  const Api& cuda = device->cuda();
  if (cuda.streamWriteValue32 == nullptr) return refused(kNotSupported);
  auto memory = PinnedBuffer::allocate(device, sizeof(std::uint32_t), device->identity().numaNode);
  if (!memory) return memory.error();
  StreamCounter counter(device, *std::move(memory));
  for (const std::uint32_t value : {kTrial, std::uint32_t{0}}) {
    if (const Code code = counter.write(stream, value); code != kSuccess) return refused(code);
    if (const Code code = cuda.streamSynchronize(stream); code != kSuccess) return refused(code);
    if (counter.read() != value) return refused(kNotSupported);
  }
  return counter;
}

}  // namespace gdrbench::cuda
