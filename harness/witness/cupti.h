// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of copies, opened at run time and described by the few declarations needed here:
// no vendor header is needed to build. Private to harness/witness.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/environment/nvml.h"

namespace gdrbench::witness::cupti {

using Code = int;
constexpr Code kOk = 0;
constexpr Code kMaxLimitReached = 12;    // no more records in a buffer
constexpr std::uint32_t kCopy = 1;       // CUPTI_ACTIVITY_KIND_MEMCPY
constexpr std::uint32_t kPeerCopy = 22;  // CUPTI_ACTIVITY_KIND_MEMCPY2: between devices
constexpr std::uint32_t kForced = 1;     // of a flush: buffers that are not full too

/// What both kinds of record begin with, in all versions that versionKnown() admits. Newer versions
/// put their fields behind it.
struct CopyRecord {
  std::uint32_t kind;
  std::uint8_t copyKind, sourceKind, destinationKind, flags;
  std::uint64_t bytes, start, end;
};
static_assert(sizeof(CopyRecord) == 32);

/// CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
enum CopyKind : std::uint8_t {
  kCopyUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};
enum MemoryKind : std::uint8_t { kPageable = 1, kPinned = 2, kDevice = 3, kDeviceStatic = 6 };

/// 12.0 to 12.9, which count from 19 on, and 13.x, whose numbers are 13xxxx.
bool versionKnown(std::uint32_t version);

using Request = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* mostRecords);
using Complete = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t bytes, std::size_t validBytes);

struct Api {
  Code (*version)(std::uint32_t*) = nullptr;
  Code (*resultString)(Code, const char**) = nullptr;
  Code (*timestamp)(std::uint64_t*) = nullptr;
  Code (*registerCallbacks)(Request, Complete) = nullptr;
  Code (*enable)(std::uint32_t kind) = nullptr;
  Code (*disable)(std::uint32_t kind) = nullptr;
  Code (*flushAll)(std::uint32_t flag) = nullptr;
  Code (*nextRecord)(std::uint8_t* buffer, std::size_t validBytes, void** record) = nullptr;
  Code (*droppedRecords)(void* context, std::uint32_t stream, std::size_t* count) = nullptr;

  /// An Error where a function is missing or the version is not known.
  static Result<Api> load(const SymbolLookup& lookup);
  [[nodiscard]] Error error(const char* tried, Code code) const;
};

/// libcupti of CUDA 13 or 12, by the loader's paths or in /usr/local/cuda*. Stays loaded.
Result<SymbolLookup> openLibrary();

}  // namespace gdrbench::witness::cupti
