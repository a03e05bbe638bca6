// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that gdrbench uses, as a table of functions: opened by name at
// run time, so that one binary starts on any machine, and replaceable, so that tests run without a
// GPU. The declarations are our own and minimal; names, values and calling sequence are the stable
// C ABI of libcuda.so.1 (versioned symbols, "_v2", as cuda.h of CUDA 12 and 13 maps them).
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/core/result.h"

namespace gdrbench::cuda {

using Code = int;                             ///< CUresult
using DeviceHandle = int;                     ///< CUdevice
using DevicePointer = unsigned long long;     ///< CUdeviceptr
using AllocationHandle = unsigned long long;  ///< CUmemGenericAllocationHandle
using Context = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;

inline constexpr Code kSuccess = 0;
inline constexpr Code kOutOfMemory = 2;
inline constexpr Code kStubLibrary = 34;
inline constexpr Code kNoDevice = 100;
inline constexpr Code kInvalidDevice = 101;
inline constexpr Code kPeerAccessAlreadyEnabled = 704;
inline constexpr Code kNotReady = 600;
inline constexpr Code kNotSupported = 801;

struct Uuid {
  unsigned char bytes[16];
};

/// CUipcMemHandle: opaque, copied by value between processes.
struct IpcMemoryHandle {
  char reserved[64];
};

/// CUmemLocation and CUmemAllocationProp.
struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};
struct AllocationProperties {
  int type = 1;                  ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int requestedHandleTypes = 0;  ///< 1: POSIX file descriptor
  MemoryLocation location;
  void* win32HandleMetaData = nullptr;
  struct {
    unsigned char compressionType = 0;
    unsigned char gpuDirectRDMACapable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } allocFlags;
};
struct AccessDescriptor {
  MemoryLocation location;
  int flags = 3;  ///< CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

/// CUdevice_attribute values.
enum DeviceAttribute : int {
  kPciBusId = 33,
  kPciDeviceId = 34,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kVmmSupported = 102,
  kGpuDirectRdmaSupported = 116,
  kGpuDirectRdmaFlushOptions = 117,
  kGpuDirectRdmaWritesOrdering = 118,
  kGpuDirectRdmaWithVmmSupported = 110,
  kDmaBufSupported = 124,
};

/// CUpointer_attribute values.
enum PointerAttribute : int {
  kMemoryType = 2,  ///< 1 host, 2 device
  kSyncMemops = 6,
  kBufferId = 7,
  kDeviceOrdinal = 9,
  kRangeStart = 11,
  kRangeSize = 12,
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventRecordExternal = 1;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr int kDmaBufHandle = 1;  ///< CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr unsigned long long kDmaBufPcieMapping =
    1;                                         ///< CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE
inline constexpr int kCaptureThreadLocal = 1;  ///< CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// Every entry answers a CUresult. Entries of newer drivers may be null; see `optional` in api.cpp.
struct Api {
  Code (*init)(unsigned flags) = nullptr;
  Code (*driverVersion)(int* version) = nullptr;
  Code (*errorName)(Code code, const char** text) = nullptr;
  Code (*errorString)(Code code, const char** text) = nullptr;

  Code (*deviceCount)(int* count) = nullptr;
  Code (*device)(DeviceHandle* device, int ordinal) = nullptr;
  Code (*deviceName)(char* name, int length, DeviceHandle device) = nullptr;
  Code (*deviceUuid)(Uuid* uuid, DeviceHandle device) = nullptr;
  Code (*devicePciBusId)(char* text, int length, DeviceHandle device) = nullptr;
  Code (*deviceAttribute)(int* value, int attribute, DeviceHandle device) = nullptr;
  Code (*primaryRetain)(Context* context, DeviceHandle device) = nullptr;
  Code (*primaryRelease)(DeviceHandle device) = nullptr;
  Code (*setCurrent)(Context context) = nullptr;
  Code (*canAccessPeer)(int* can, DeviceHandle device, DeviceHandle peer) = nullptr;
  Code (*enablePeerAccess)(Context peer, unsigned flags) = nullptr;

  Code (*memoryInfo)(std::size_t* free, std::size_t* total) = nullptr;
  Code (*allocate)(DevicePointer* pointer, std::size_t bytes) = nullptr;
  Code (*free)(DevicePointer pointer) = nullptr;
  Code (*hostRegister)(void* pointer, std::size_t bytes, unsigned flags) = nullptr;
  Code (*hostUnregister)(void* pointer) = nullptr;
  Code (*pointerGet)(void* data, int attribute, DevicePointer pointer) = nullptr;
  Code (*pointerSet)(const void* value, int attribute, DevicePointer pointer) = nullptr;

  // Virtual memory management: cuMemCreate and its companions.
  Code (*granularity)(std::size_t* bytes, const AllocationProperties*, int option) = nullptr;
  Code (*create)(AllocationHandle*, std::size_t bytes, const AllocationProperties*,
                 unsigned long long flags) = nullptr;
  Code (*releaseHandle)(AllocationHandle) = nullptr;
  Code (*reserve)(DevicePointer*, std::size_t bytes, std::size_t alignment, DevicePointer near,
                  unsigned long long flags) = nullptr;
  Code (*freeReserved)(DevicePointer, std::size_t bytes) = nullptr;
  Code (*map)(DevicePointer, std::size_t bytes, std::size_t offset, AllocationHandle,
              unsigned long long flags) = nullptr;
  Code (*unmap)(DevicePointer, std::size_t bytes) = nullptr;
  Code (*setAccess)(DevicePointer, std::size_t bytes, const AccessDescriptor*,
                    std::size_t count) = nullptr;
  Code (*rangeHandle)(void* handle, DevicePointer, std::size_t bytes, int type,
                      unsigned long long flags) = nullptr;  ///< optional: driver 11.7

  Code (*ipcGet)(IpcMemoryHandle*, DevicePointer) = nullptr;
  Code (*ipcOpen)(DevicePointer*, IpcMemoryHandle, unsigned flags) = nullptr;
  Code (*ipcClose)(DevicePointer) = nullptr;

  /// cuMemcpyAsync: host or device on either side, told apart by the unified address.
  Code (*copyAsync)(DevicePointer destination, DevicePointer source, std::size_t bytes,
                    StreamHandle) = nullptr;
  Code (*copyPeerAsync)(DevicePointer destination, Context, DevicePointer source, Context,
                        std::size_t bytes, StreamHandle) = nullptr;

  Code (*streamCreate)(StreamHandle*, unsigned flags) = nullptr;
  Code (*streamDestroy)(StreamHandle) = nullptr;
  Code (*streamSynchronize)(StreamHandle) = nullptr;
  Code (*streamQuery)(StreamHandle) = nullptr;
  Code (*streamWriteValue32)(StreamHandle, DevicePointer, std::uint32_t value,
                             unsigned flags) = nullptr;  ///< optional: driver 11.7
  Code (*streamWaitEvent)(StreamHandle, EventHandle, unsigned flags) = nullptr;
  Code (*beginCapture)(StreamHandle, int mode) = nullptr;
  Code (*endCapture)(StreamHandle, Graph*) = nullptr;
  Code (*graphInstantiate)(GraphExec*, Graph, unsigned long long flags) = nullptr;
  Code (*graphLaunch)(GraphExec, StreamHandle) = nullptr;
  Code (*graphExecDestroy)(GraphExec) = nullptr;
  Code (*graphDestroy)(Graph) = nullptr;

  Code (*eventCreate)(EventHandle*, unsigned flags) = nullptr;
  Code (*eventDestroy)(EventHandle) = nullptr;
  Code (*eventRecord)(EventHandle, StreamHandle) = nullptr;
  Code (*eventRecordWithFlags)(EventHandle, StreamHandle, unsigned flags) = nullptr;
  Code (*eventQuery)(EventHandle) = nullptr;
  Code (*eventSynchronize)(EventHandle) = nullptr;
  Code (*eventElapsed)(float* milliseconds, EventHandle start, EventHandle end) = nullptr;

  Code (*moduleLoad)(Module*, const void* image) = nullptr;
  Code (*moduleUnload)(Module) = nullptr;
  Code (*moduleFunction)(Function*, Module, const char* name) = nullptr;
  Code (*launch)(Function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                 unsigned blockY, unsigned blockZ, unsigned sharedBytes, StreamHandle,
                 void** arguments, void** extra) = nullptr;
  Code (*flushWrites)(int target, int scope) = nullptr;  ///< optional: driver 11.3
};

/// The driver of this machine, opened and initialised once; or the same error each time: no driver
/// library, a toolkit's stub in its place, a driver too old (which symbol it lacks), no device.
Result<const Api*> api();

/// From here on api() answers this one. Tests only, before the first use.
void replaceApi(const Api& fake);

/// An Error with CUDA's own name and text for the code.
Error error(std::string tried, Code code, std::string next = {});

}  // namespace gdrbench::cuda
