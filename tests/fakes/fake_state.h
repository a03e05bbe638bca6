// SPDX-License-Identifier: Apache-2.0
// What the fake driver keeps. Private to tests/fakes.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "tests/fakes/fake_cuda.h"

namespace gdrbench::cuda {

struct CUctx_st {
  int device = 0;
};

/// A step of a stream or a graph.
struct FakeStep {
  enum class Kind { kCopy, kRecord, kWait, kWrite };
  Kind kind = Kind::kCopy;
  DevicePointer to = 0, from = 0;
  std::size_t bytes = 0;
  int fromDevice = 0, toDevice = 0;
  unsigned queries = 0;
  std::uint64_t number = 0;  ///< of the copies on this link, from 0
  EventHandle event = nullptr;
  std::uint64_t serial = 0;  ///< of the record that is made or awaited
  std::uint32_t value = 0;   ///< kWrite: to be written at `to`
};

struct CUgraph_st {
  std::vector<FakeStep> steps;
};
struct CUgraphExec_st {
  std::vector<FakeStep> steps;
};

struct CUstream_st {
  int device = 0;
  std::deque<FakeStep> steps;
  std::shared_ptr<CUgraph_st> capture;
  Code error = kSuccess;
  bool alive = true;
};

struct CUevent_st {
  bool timed = false;
  StreamHandle stream = nullptr;
  std::uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point at;
  std::shared_ptr<CUgraph_st> capture;  ///< recorded while its stream was captured
};

struct CUmod_st {
  const void* image = nullptr;
};
struct CUfunc_st {
  fake::Kernel kernel;
};

namespace fake {

inline constexpr Code kInvalidValue = 1;
inline constexpr Code kInvalidContext = 201;
inline constexpr Code kPeerUnsupported = 217;
inline constexpr Code kInvalidHandle = 400;
inline constexpr Code kNameNotFound = 500;
inline constexpr Code kAlreadyRegistered = 712;
inline constexpr Code kNotRegistered = 713;

/// Bytes of a device under two addresses: one that faults, given out, and one for the fake.
struct Block {
  enum class Kind { kAllocated, kImported, kMapped };
  Kind kind = Kind::kAllocated;
  int device = 0;
  std::byte* address = nullptr;
  std::byte* view = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
  bool accessible = true;
};

/// cuMemCreate.
struct Physical {
  int device = 0;
  int fd = -1;
  std::size_t bytes = 0;
};

struct State {
  std::recursive_mutex mutex;
  Machine machine;
  std::vector<std::unique_ptr<CUctx_st>> contexts;  ///< one a GPU
  std::vector<std::uint64_t> used;                  ///< bytes of each GPU
  std::set<std::pair<int, int>> peers;              ///< enabled: {who, whose memory}
  std::map<std::uintptr_t, Block> blocks;           ///< by address
  std::map<AllocationHandle, Physical> physical;
  std::map<std::uintptr_t, std::size_t> reserved, registered;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::map<int, StreamHandle> defaults;  ///< the default stream of each GPU
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::map<std::string, std::unique_ptr<CUfunc_st>> kernels;
  std::map<std::pair<int, int>, std::uint64_t> enqueued;  ///< copies, by link
  std::uint64_t nextHandle = 1;
  Counters counters;
};

State& state();
using Guard = std::scoped_lock<std::recursive_mutex>;

/// The device of the thread's current context; nothing when there is none.
std::optional<int> currentDevice();

/// The block that holds the address, or null.
Block* blockOf(DevicePointer address);
bool isRegistered(DevicePointer address, std::size_t bytes);

/// Finishes what streams still have to do: freeing memory waits for it, as in the real driver.
void drainAll();

void bindDevices(Api& api);
void bindMemory(Api& api);
void bindVirtualMemory(Api& api);
void bindWork(Api& api);
void bindGraphs(Api& api);

}  // namespace fake
}  // namespace gdrbench::cuda
