// SPDX-License-Identifier: Apache-2.0
// Over the fake driver. As two processes, it goes through IPC handles; as one, through addresses.
#include "tests/conformance/suite.h"
#include "tests/fakes/fake_buffer.h"
#include "tests/fakes/fake_cuda.h"

namespace {

namespace fake = gdrbench::cuda::fake;
using gdrbench::MemoryKind;
using gdrbench::MemoryName;

MemoryName gpu(const char* name) {
  static const bool installed = (fake::install({.gpus = 2}), true);
  static_cast<void>(installed);
  return {MemoryKind::kCuda, name};
}
MemoryName host() {
  return {};
}
MemoryName pinned() {
  return {MemoryKind::kPinned, {}};
}

}  // namespace

#define GDR_CUDA_COPY(NAME, FROM, TO, ACCESS, IN_ONE_PROCESS)                                    \
  GDR_CONFORMANCE("cuda_copy " NAME, .transport = "cuda_copy",                                   \
                  .options = {{"peer_access", ACCESS}}, .noticesPeerLoss = true, .memory = FROM, \
                  .peerMemory = TO, .allocate = fake::allocateBuffer, .view = fake::hostView,    \
                  .inOneProcess = IN_ONE_PROCESS, .syncWithoutBytes = true)

GDR_CUDA_COPY("between GPUs", gpu("0"), gpu("1"), "true", false)
GDR_CUDA_COPY("between GPUs, one process", gpu("0"), gpu("1"), "true", true)
GDR_CUDA_COPY("without peer access", gpu("0"), gpu("1"), "false", false)
GDR_CUDA_COPY("without peer access, one process", gpu("0"), gpu("1"), "false", true)
GDR_CUDA_COPY("within a GPU", gpu("1"), gpu("1"), "true", false)
GDR_CUDA_COPY("from and to pinned memory", pinned(), gpu("0"), "true", true)
GDR_CUDA_COPY("from and to pageable memory", gpu("0"), host(), "true", true)
