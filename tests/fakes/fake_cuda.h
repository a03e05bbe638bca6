// SPDX-License-Identifier: Apache-2.0
// A CUDA driver without a GPU: the functions of harness/cuda/api.h over host memory, for tests.
//
//   cuda::fake::install({.gpus = 4});      // before the first use of cuda::api()
//
// What it is strict about, because real drivers are or because it finds faults:
//   - Memory of a device faults when the CPU touches it; tests look at it through hostView().
//   - Two processes share it by IPC handles, without names: nothing is left behind by a SIGKILL.
//   - A stream does nothing by itself: copies are done, in order, as their events are queried or
//     synchronised, so that bytes which are read too early are still the old ones.
//   - Work needs a current context on the thread; memory of the virtual memory management has no
//     IPC handle; a range that leaves its allocation is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cuda/api.h"

namespace gdrbench::cuda::fake {

inline constexpr int kHost = -1;  ///< in place of a GPU, as one end of a link

/// How copies from one place to another behave.
struct Link {
  bool peerAccess = true;                    ///< false: cuDeviceCanAccessPeer says no
  unsigned queries = 2;                      ///< a copy is done at the n-th query
  std::optional<std::uint64_t> corruptByte;  ///< of each copy that is long enough
  Code refusal = kSuccess;                   ///< answered when a copy is enqueued
  Code failure = kSuccess;                   ///< answered when its event is queried
  std::uint64_t goodCopies = 0;              ///< before refusal or failure begins
};

/// The machine that the driver pretends to drive.
struct Machine {
  int gpus = 2;
  std::vector<std::string> pci = {};               ///< "0000:3b:00.0"; made up where there is none
  std::uint64_t memoryBytes = 256u << 20;          ///< of each GPU
  std::map<std::pair<int, int>, Link> links = {};  ///< {from, to}; a plain Link where absent
  bool ipcInOneProcess = true;  ///< the real driver refuses; convenient for tests with threads
  int driverVersion = 12080;
  /// Streams can write values to memory. Off unless asked for: nobody but a query lets a fake
  /// stream go on, and who looks at memory asks for little.
  bool memoryOperations = false;
  bool orderedWrites = true;  ///< of network cards; otherwise they have to be flushed
  bool canFlush = true;
};

/// "gpus=8 memory=64MiB slow=0-1:50 corrupt=2-3:17 nopeer=4-5 fail=h-1:719": for programs that get
/// their machine from the environment. Throws std::invalid_argument.
Machine machineOf(std::string_view text);

/// Replaces cuda::api(). Once a process; reset() changes the machine afterwards.
void install(const Machine& machine);

/// Another machine, with nothing allocated. Only while no object of the old one is in use.
void reset(const Machine& machine);

/// The running machine, to plant a fault between two steps of a test.
Link& link(int from, int to);

/// Where the CPU finds the bytes of a device address; host addresses are answered as they are.
std::byte* hostView(const void* address);

/// What a kernel of that name does. It runs within cuLaunchKernel, after all that its stream was
/// given before. Pointers among the arguments are device addresses: see hostView().
using Kernel = std::function<void(void** arguments, unsigned gridX, unsigned blockX)>;
void fakeKernel(const std::string& name, Kernel kernel);

/// What there is now, and what has been done.
struct Counters {
  std::size_t allocations = 0, imports = 0, streams = 0, events = 0, registrations = 0;
  int contexts = 0;                ///< retained and not released
  std::uint64_t copies = 0;        ///< executed
  std::uint64_t stagedCopies = 0;  ///< of them between two GPUs without peer access
  std::uint64_t queries = 0;       ///< of events
  std::uint64_t flushes = 0;       ///< of what network cards wrote
};
Counters counters();

}  // namespace gdrbench::cuda::fake
