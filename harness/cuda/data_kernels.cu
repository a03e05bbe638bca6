// SPDX-License-Identifier: Apache-2.0
// The data pattern (harness/memory/data_pattern.h) on the GPU that owns the bytes: each word is
// computed where it is needed, so filling writes and verifying reads every byte exactly once.
//
// data_kernels.ptx is made from this file by tests/lint/ptx.sh, which also says when it is stale.
// It is PTX for compute capability 7.0: the driver compiles it for the GPU that it finds.

using u64 = unsigned long long;
using u32 = unsigned int;

#define KERNEL extern "C" __attribute__((global))

namespace {

__attribute__((device)) u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Word k of a message is base + (k + 1) * kStep.
constexpr u64 kStep = 0x9e3779b97f4a7c15u;

__attribute__((device)) u64 baseOf(u64 mixedSeed, u64 message) {
  return mix(mixedSeed ^ (message * 0xd1342543de82ef95u + 1));
}

struct alignas(16) Pair {
  u64 first, second;
};

__attribute__((device)) u64 thread() {
  return static_cast<u64>(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
__attribute__((device)) u64 threads() {
  return static_cast<u64>(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x();
}

}  // namespace

/// Writes into `count` slots, `stride` bytes apart, `bytes` bytes of the messages that begin with
/// number `firstMessage`, each word XORed with `inverted` (all bits for poison, none for data).
/// Grid: x over the words of a message, y over messages.
KERNEL void gdrbench_fill(unsigned char* slots, u64 stride, u64 bytes, u32 count, u64 firstMessage,
                          u64 mixedSeed, u64 inverted) {
  for (u32 i = __nvvm_read_ptx_sreg_ctaid_y(); i < count; i += __nvvm_read_ptx_sreg_nctaid_y()) {
    unsigned char* const slot = slots + i * stride;
    const u64 base = baseOf(mixedSeed, firstMessage + i);
    const u64 pairs = bytes / 16;
    for (u64 p = thread(); p < pairs; p += threads()) {
      Pair pair;
      pair.first = (base + (2 * p + 1) * kStep) ^ inverted;
      pair.second = (base + (2 * p + 2) * kStep) ^ inverted;
      reinterpret_cast<Pair*>(slot)[p] = pair;
    }
    for (u64 b = pairs * 16 + thread(); b < bytes; b += threads()) {
      const u64 word = (base + (b / 8 + 1) * kStep) ^ inverted;
      slot[b] = static_cast<unsigned char>(word >> (b % 8 * 8));
    }
  }
}

/// Compares; *firstBad becomes the least index of a slot with a wrong byte, and stays as it is when
/// there is none.
KERNEL void gdrbench_verify(const unsigned char* slots, u64 stride, u64 bytes, u32 count,
                            u64 firstMessage, u64 mixedSeed, u32* firstBad) {
  for (u32 i = __nvvm_read_ptx_sreg_ctaid_y(); i < count; i += __nvvm_read_ptx_sreg_nctaid_y()) {
    const unsigned char* const slot = slots + i * stride;
    const u64 base = baseOf(mixedSeed, firstMessage + i);
    const u64 pairs = bytes / 16;
    u64 difference = 0;
    for (u64 p = thread(); p < pairs; p += threads()) {
      const Pair pair = reinterpret_cast<const Pair*>(slot)[p];
      difference |= pair.first ^ (base + (2 * p + 1) * kStep);
      difference |= pair.second ^ (base + (2 * p + 2) * kStep);
    }
    for (u64 b = pairs * 16 + thread(); b < bytes; b += threads()) {
      const u64 word = base + (b / 8 + 1) * kStep;
      difference |= slot[b] ^ static_cast<unsigned char>(word >> (b % 8 * 8));
    }
    if (difference != 0) __nvvm_atom_min_gen_ui(firstBad, i);
  }
}
