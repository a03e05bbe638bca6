// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/pinned.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "harness/core/units.h"

namespace gdrbench::cuda {
namespace {

// The two calls of <numaif.h> that are needed here: libnuma would be a dependency for two numbers.
constexpr int kPreferred = 1;                    // MPOL_PREFERRED
constexpr unsigned long kNodeOfAddress = 1 | 2;  // MPOL_F_NODE | MPOL_F_ADDR
constexpr int kMostNodes = 1024;
constexpr int kBitsOfWord = sizeof(unsigned long) * CHAR_BIT;

std::uint64_t wholePages(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::max(page, (bytes + page - 1) / page * page);
}

/// A wish: memory on the wrong node is slower, and still right.
void prefer(void* address, std::uint64_t bytes, int node) {
  if (node < 0 || node >= kMostNodes) return;
  std::array<unsigned long, kMostNodes / kBitsOfWord> mask{};
  mask[static_cast<std::size_t>(node / kBitsOfWord)] = 1ul << (node % kBitsOfWord);
  syscall(SYS_mbind, address, bytes, kPreferred, mask.data(), kMostNodes + 1ul, 0u);
}

int nodeOf(void* address) {
  int node = -1;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0ul, address, kNodeOfAddress) != 0) return -1;
  return node;
}

}  // namespace

Result<PinnedBuffer> PinnedBuffer::allocate(std::shared_ptr<const Device> device,
                                            std::uint64_t bytes, int numaNode) {
  const std::uint64_t length = wholePages(bytes);
  void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    const int why = errno;
    return systemError(fmt::format("allocate {} of pinned memory", formatSize(length)), why);
  }
  PinnedBuffer buffer(std::move(device), static_cast<std::byte*>(address), length);
  buffer.touch(numaNode);
  if (Status pinned = buffer.pin(); !pinned) return pinned.error();
  return buffer;
}

/// Pages are placed when they are touched: the wish for a node comes before, its fate is known
/// after.
void PinnedBuffer::touch(int numaNode) {
  prefer(data_, bytes_, numaNode);
  std::memset(data_, 0, bytes_);
  numaNode_ = nodeOf(data_);
}

/// Portable: the context of every GPU of this process may use it.
Status PinnedBuffer::pin() {
  if (Status current = device_->makeCurrent(); !current) return current;
  const Code code = device_->cuda().hostRegister(data_, bytes_, kHostRegisterPortable);
  if (code != kSuccess) {
    return error(fmt::format("pin {} of host memory (cuMemHostRegister)", formatSize(bytes_)), code,
                 "the limit of locked memory may be too low (ulimit -l)");
  }
  registered_ = true;
  return Done{};
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ == nullptr) return;
  if (registered_) device_->cuda().hostUnregister(data_);
  munmap(data_, bytes_);
}

}  // namespace gdrbench::cuda
