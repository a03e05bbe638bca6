// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_kernels.h"

#include "tests/fakes/fake_cuda.h"

namespace {

/// Which thread of the grid runs now.
struct Place {
  unsigned block = 0, blocks = 1, thread = 0, threads = 1;
};
thread_local Place place;

unsigned atomicMin(unsigned* at, unsigned value) {
  const unsigned old = *at;
  if (value < old) *at = value;
  return old;
}

}  // namespace

// What the compiler for GPUs has built in. Messages are one row here: the kernels loop over it.
#define __nvvm_read_ptx_sreg_ctaid_x() place.block
#define __nvvm_read_ptx_sreg_nctaid_x() place.blocks
#define __nvvm_read_ptx_sreg_tid_x() place.thread
#define __nvvm_read_ptx_sreg_ntid_x() place.threads
#define __nvvm_read_ptx_sreg_ctaid_y() 0u
#define __nvvm_read_ptx_sreg_nctaid_y() 1u
#define __nvvm_atom_min_gen_ui atomicMin
#include "harness/cuda/data_kernels.cu"

namespace gdrbench::cuda::fake {
namespace {

template <class T>
T argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

unsigned char* bytesAt(void** arguments, int index) {
  const auto address = argument<DevicePointer>(arguments, index);
  return reinterpret_cast<unsigned char*>(hostView(reinterpret_cast<const void*>(address)));
}

template <class Work>
void forEachThread(unsigned blocks, unsigned threads, Work work) {
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      place = {block, blocks, thread, threads};
      work();
    }
  }
}

}  // namespace

void installDataKernels() {
  fakeKernel("gdrbench_fill", [](void** a, unsigned blocks, unsigned threads) {
    forEachThread(blocks, threads, [&] {
      gdrbench_fill(bytesAt(a, 0), argument<u64>(a, 1), argument<u64>(a, 2), argument<u32>(a, 3),
                    argument<u64>(a, 4), argument<u64>(a, 5), argument<u64>(a, 6));
    });
  });
  fakeKernel("gdrbench_verify", [](void** a, unsigned blocks, unsigned threads) {
    forEachThread(blocks, threads, [&] {
      gdrbench_verify(bytesAt(a, 0), argument<u64>(a, 1), argument<u64>(a, 2), argument<u32>(a, 3),
                      argument<u64>(a, 4), argument<u64>(a, 5),
                      reinterpret_cast<u32*>(bytesAt(a, 6)));
    });
  });
}

}  // namespace gdrbench::cuda::fake
