// SPDX-License-Identifier: Apache-2.0
// Memory of the fake driver: allocations, IPC, virtual memory management, registered host memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/fake_state.h"

namespace gdrbench::cuda::fake {
namespace {

constexpr std::size_t kGranularity = 2u << 20;

/// The content of an IpcMemoryHandle. The memory is a memfd of the exporting process.
struct Ticket {
  std::uint64_t magic, bytes;
  std::int32_t pid, fd, device;
};
constexpr std::uint64_t kMagic = 0x6370695f656b6166;
static_assert(sizeof(Ticket) <= sizeof(IpcMemoryHandle));

std::size_t wholePages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

std::byte* mapped(std::size_t bytes, int protection, int flags, int fd, void* at = nullptr) {
  void* memory = mmap(at, wholePages(bytes), protection, flags, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

std::byte* reserveAddresses(std::size_t bytes) {
  return mapped(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

int newMemory(std::size_t bytes) {
  const int fd = memfd_create("gdrbench-fake-gpu", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(wholePages(bytes))) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/// Takes the descriptor.
Code addBlock(Block block, DevicePointer* address) {
  block.view = mapped(block.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd);
  if (block.address == nullptr) block.address = reserveAddresses(block.bytes);
  if (block.view == nullptr || block.address == nullptr) return kOutOfMemory;
  *address = reinterpret_cast<DevicePointer>(block.address);
  state().blocks.emplace(reinterpret_cast<std::uintptr_t>(block.address), block);
  return kSuccess;
}

/// `kind`: what the caller may give back.
Code dropBlock(DevicePointer address, Block::Kind kind) {
  const auto found = state().blocks.find(static_cast<std::uintptr_t>(address));
  if (found == state().blocks.end() || found->second.kind != kind) return kInvalidValue;
  drainAll();
  const Block& block = found->second;
  munmap(block.view, wholePages(block.bytes));
  if (kind != Block::Kind::kMapped) munmap(block.address, wholePages(block.bytes));
  if (kind == Block::Kind::kAllocated)
    state().used[static_cast<std::size_t>(block.device)] -= block.bytes;
  close(block.fd);
  state().blocks.erase(found);
  return kSuccess;
}

/// Counts bytes of a device, as long as it has them.
bool take(int device, std::size_t bytes) {
  std::uint64_t& used = state().used[static_cast<std::size_t>(device)];
  if (bytes > state().machine.memoryBytes - used) return false;
  used += bytes;
  return true;
}

Code allocate(DevicePointer* pointer, std::size_t bytes) {
  const Guard guard(state().mutex);
  const auto device = currentDevice();
  if (!device) return kInvalidContext;
  if (bytes == 0) return kInvalidValue;
  if (!take(*device, bytes)) return kOutOfMemory;
  const int fd = newMemory(bytes);
  if (fd < 0) return kOutOfMemory;
  return addBlock({.device = *device, .bytes = bytes, .fd = fd}, pointer);
}

Code freeMemory(DevicePointer pointer) {
  const Guard guard(state().mutex);
  return dropBlock(pointer, Block::Kind::kAllocated);
}

Code memoryInfo(std::size_t* free, std::size_t* total) {
  const Guard guard(state().mutex);
  const auto device = currentDevice();
  if (!device) return kInvalidContext;
  *total = state().machine.memoryBytes;
  *free = *total - state().used[static_cast<std::size_t>(*device)];
  return kSuccess;
}

// --- IPC -----------------------------------------------------------------------------------------

Code ipcGet(IpcMemoryHandle* handle, DevicePointer pointer) {
  const Guard guard(state().mutex);
  const Block* block = blockOf(pointer);
  if (block == nullptr || block->kind != Block::Kind::kAllocated) return kInvalidValue;
  const Ticket ticket{kMagic, block->bytes, static_cast<std::int32_t>(getpid()), block->fd,
                      block->device};
  *handle = {};
  std::memcpy(handle, &ticket, sizeof ticket);
  return kSuccess;
}

/// Memory of another GPU is mapped for the current one, if the two can reach each other.
Code admit(int device, const Ticket& ticket, unsigned flags) {
  if (device == ticket.device) return kSuccess;
  if (flags != kIpcLazyPeerAccess) return kInvalidValue;
  if (!link(device, ticket.device).peerAccess) return kPeerUnsupported;
  state().peers.emplace(device, ticket.device);
  return kSuccess;
}

Code ipcOpen(DevicePointer* pointer, IpcMemoryHandle handle, unsigned flags) {
  const Guard guard(state().mutex);
  const auto device = currentDevice();
  if (!device) return kInvalidContext;
  Ticket ticket;
  std::memcpy(&ticket, &handle, sizeof ticket);
  if (ticket.magic != kMagic || ticket.device >= state().machine.gpus) return kInvalidValue;
  if (ticket.pid == getpid() && !state().machine.ipcInOneProcess) return kInvalidContext;
  if (const Code refused = admit(*device, ticket, flags); refused != kSuccess) return refused;
  const std::string path =
      "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return kInvalidValue;
  return addBlock(
      {.kind = Block::Kind::kImported, .device = ticket.device, .bytes = ticket.bytes, .fd = fd},
      pointer);
}

Code ipcClose(DevicePointer pointer) {
  const Guard guard(state().mutex);
  return dropBlock(pointer, Block::Kind::kImported);
}

// --- virtual memory management -------------------------------------------------------------------

Code create(AllocationHandle* handle, std::size_t bytes, const AllocationProperties* properties,
            unsigned long long) {
  const Guard guard(state().mutex);
  const int device = properties->location.id;
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  if (device < 0 || device >= state().machine.gpus) return kInvalidDevice;
  if (!take(device, bytes)) return kOutOfMemory;
  const int fd = newMemory(bytes);
  if (fd < 0) return kOutOfMemory;
  *handle = state().nextHandle++;
  state().physical[*handle] = {device, fd, bytes};
  return kSuccess;
}

Code releaseHandle(AllocationHandle handle) {
  const Guard guard(state().mutex);
  const auto found = state().physical.find(handle);
  if (found == state().physical.end()) return kInvalidValue;
  state().used[static_cast<std::size_t>(found->second.device)] -= found->second.bytes;
  close(found->second.fd);
  state().physical.erase(found);
  return kSuccess;
}

Code reserve(DevicePointer* pointer, std::size_t bytes, std::size_t, DevicePointer,
             unsigned long long) {
  const Guard guard(state().mutex);
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  std::byte* address = reserveAddresses(bytes);
  if (address == nullptr) return kOutOfMemory;
  *pointer = reinterpret_cast<DevicePointer>(address);
  state().reserved[static_cast<std::uintptr_t>(*pointer)] = bytes;
  return kSuccess;
}

Code freeReserved(DevicePointer pointer, std::size_t bytes) {
  const Guard guard(state().mutex);
  const auto found = state().reserved.find(static_cast<std::uintptr_t>(pointer));
  if (found == state().reserved.end() || found->second != bytes) return kInvalidValue;
  if (blockOf(pointer) != nullptr) return kInvalidValue;
  munmap(reinterpret_cast<void*>(pointer), bytes);
  state().reserved.erase(found);
  return kSuccess;
}

/// Whole reservations only, which is all that gdrbench maps.
Code map(DevicePointer pointer, std::size_t bytes, std::size_t offset, AllocationHandle handle,
         unsigned long long) {
  const Guard guard(state().mutex);
  const auto range = state().reserved.find(static_cast<std::uintptr_t>(pointer));
  const auto memory = state().physical.find(handle);
  if (range == state().reserved.end() || range->second != bytes || offset != 0 ||
      memory == state().physical.end() || memory->second.bytes != bytes) {
    return kInvalidValue;
  }
  DevicePointer same = 0;
  return addBlock({.kind = Block::Kind::kMapped,
                   .device = memory->second.device,
                   .address = reinterpret_cast<std::byte*>(pointer),
                   .bytes = bytes,
                   .fd = dup(memory->second.fd),
                   .accessible = false},
                  &same);
}

Code setAccess(DevicePointer pointer, std::size_t bytes, const AccessDescriptor*, std::size_t) {
  const Guard guard(state().mutex);
  Block* block = blockOf(pointer);
  if (block == nullptr || block->kind != Block::Kind::kMapped || block->bytes != bytes) {
    return kInvalidValue;
  }
  block->accessible = true;
  return kSuccess;
}

// --- host memory, attributes ---------------------------------------------------------------------

Code hostRegister(void* pointer, std::size_t bytes, unsigned) {
  const Guard guard(state().mutex);
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  const auto start = reinterpret_cast<std::uintptr_t>(pointer);
  if (isRegistered(start, 1)) return kAlreadyRegistered;
  state().registered[start] = bytes;
  return kSuccess;
}

Code hostUnregister(void* pointer) {
  const Guard guard(state().mutex);
  drainAll();
  return state().registered.erase(reinterpret_cast<std::uintptr_t>(pointer)) == 1 ? kSuccess
                                                                                  : kNotRegistered;
}

template <class T>
Code answer(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return kSuccess;
}

Code pointerGet(void* data, int attribute, DevicePointer pointer) {
  const Guard guard(state().mutex);
  const Block* block = blockOf(pointer);
  if (block == nullptr) {
    if (attribute != kMemoryType || !isRegistered(pointer, 1)) return kInvalidValue;
    return answer(data, 1u);
  }
  switch (attribute) {
    case kMemoryType:
      return answer(data, 2u);
    case kSyncMemops:
      return answer(data, true);
    case kBufferId:
      return answer(data, static_cast<unsigned long long>(block->fd));
    case kDeviceOrdinal:
      return answer(data, block->device);
    case kRangeStart:
      return answer(data, reinterpret_cast<DevicePointer>(block->address));
    case kRangeSize:
      return answer(data, block->bytes);
    default:
      return kInvalidValue;
  }
}

}  // namespace

Block* blockOf(DevicePointer address) {
  auto& blocks = state().blocks;
  auto found = blocks.upper_bound(static_cast<std::uintptr_t>(address));
  if (found == blocks.begin()) return nullptr;
  Block& block = (--found)->second;
  return address - found->first < block.bytes ? &block : nullptr;
}

bool isRegistered(DevicePointer address, std::size_t bytes) {
  auto found = state().registered.upper_bound(static_cast<std::uintptr_t>(address));
  if (found == state().registered.begin()) return false;
  --found;
  return address + bytes <= found->first + found->second;
}

std::byte* hostView(const void* address) {
  const Guard guard(state().mutex);
  const auto pointer = reinterpret_cast<DevicePointer>(address);
  const Block* block = blockOf(pointer);
  if (block == nullptr) return const_cast<std::byte*>(static_cast<const std::byte*>(address));
  return block->view + (pointer - reinterpret_cast<DevicePointer>(block->address));
}

void bindMemory(Api& api) {
  api.memoryInfo = memoryInfo;
  api.allocate = allocate;
  api.free = freeMemory;
  api.hostRegister = hostRegister;
  api.hostUnregister = hostUnregister;
  api.pointerGet = pointerGet;
  api.pointerSet = [](const void*, int, DevicePointer pointer) {
    const Guard guard(state().mutex);
    return blockOf(pointer) == nullptr ? kInvalidValue : kSuccess;
  };
  api.ipcGet = ipcGet;
  api.ipcOpen = ipcOpen;
  api.ipcClose = ipcClose;
}

void bindVirtualMemory(Api& api) {
  api.granularity = [](std::size_t* bytes, const AllocationProperties*, int) {
    *bytes = kGranularity;
    return kSuccess;
  };
  api.create = create;
  api.releaseHandle = releaseHandle;
  api.reserve = reserve;
  api.freeReserved = freeReserved;
  api.map = map;
  api.unmap = [](DevicePointer pointer, std::size_t) {
    const Guard guard(state().mutex);
    return dropBlock(pointer, Block::Kind::kMapped);
  };
  api.setAccess = setAccess;
}

}  // namespace gdrbench::cuda::fake
