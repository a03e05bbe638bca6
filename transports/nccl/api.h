// SPDX-License-Identifier: Apache-2.0
// The part of NCCL that is used, opened by name at run time. The declarations are our own and
// minimal; names, values and calling sequence are those of nccl.h since 2.18.
#pragma once

#include <cstddef>
#include <string>

#include "harness/core/result.h"
#include "harness/cuda/api.h"

namespace gdrbench::nccl {

using Code = int;  ///< ncclResult_t
inline constexpr Code kSuccess = 0;
inline constexpr Code kInProgress = 7;
inline constexpr int kUint8 = 1;  ///< ncclUint8

using Comm = struct ncclComm*;

struct UniqueId {
  char internal[128];
};

/// The beginning of ncclConfig_t: NCCL takes as much as `size` says and defaults for the rest, by
/// the version in which the fields came.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 1;
};

struct Api {
  Code (*version)(int*) = nullptr;
  Code (*uniqueId)(UniqueId*) = nullptr;
  Code (*initRank)(Comm*, int ranks, UniqueId, int rank, Config*) = nullptr;
  Code (*finalize)(Comm) = nullptr;
  Code (*destroy)(Comm) = nullptr;
  Code (*abort)(Comm) = nullptr;
  Code (*asyncError)(Comm, Code*) = nullptr;
  const char* (*errorString)(Code) = nullptr;
  const char* (*lastError)(Comm) = nullptr;
  Code (*send)(const void*, std::size_t count, int type, int peer, Comm,
               cuda::StreamHandle) = nullptr;
  Code (*recv)(void*, std::size_t count, int type, int peer, Comm, cuda::StreamHandle) = nullptr;
  Code (*groupStart)() = nullptr;
  Code (*groupEnd)() = nullptr;
  Code (*registerBuffer)(Comm, void*, std::size_t, void** handle) = nullptr;  ///< null before 2.19
  Code (*deregisterBuffer)(Comm, void* handle) = nullptr;
};

struct Library {
  Api api;
  std::string path;     ///< of the file that was loaded
  std::string version;  ///< "2.28.3"
};

/// libnccl.so.2, once; the one that was loaded before, if any. kUnsupported when there is none or
/// it is older than 2.18.
Result<const Library*> library();

/// An Error with NCCL's words, and the last error that it logged. `comm` may be null.
Error error(const Api& api, std::string tried, Code code, Comm comm);

}  // namespace gdrbench::nccl
