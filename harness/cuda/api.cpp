// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

namespace gdrbench::cuda {
namespace {

/// Versioned: the plain name also finds the toolkit's stub, which has every symbol and no driver.
constexpr const char* kLibrary = "libcuda.so.1";

class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}

  /// The newest name first; older ones are what earlier drivers call the same function.
  template <class F>
  void required(F& function, const char* name) {
    optional(function, name);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  template <class F>
  void optional(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle_, name));
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* handle_;
  const char* missing_ = nullptr;
};

void bindDevices(Library& library, Api& api) {
  library.required(api.init, "cuInit");
  library.required(api.driverVersion, "cuDriverGetVersion");
  library.required(api.errorName, "cuGetErrorName");
  library.required(api.errorString, "cuGetErrorString");
  library.required(api.deviceCount, "cuDeviceGetCount");
  library.required(api.device, "cuDeviceGet");
  library.required(api.deviceName, "cuDeviceGetName");
  library.required(api.deviceUuid, "cuDeviceGetUuid");
  library.required(api.devicePciBusId, "cuDeviceGetPCIBusId");
  library.required(api.deviceAttribute, "cuDeviceGetAttribute");
  library.required(api.primaryRetain, "cuDevicePrimaryCtxRetain");
  library.required(api.primaryRelease, "cuDevicePrimaryCtxRelease_v2");
  library.required(api.setCurrent, "cuCtxSetCurrent");
  library.required(api.canAccessPeer, "cuDeviceCanAccessPeer");
  library.required(api.enablePeerAccess, "cuCtxEnablePeerAccess");
}

void bindMemory(Library& library, Api& api) {
  library.required(api.memoryInfo, "cuMemGetInfo_v2");
  library.required(api.allocate, "cuMemAlloc_v2");
  library.required(api.free, "cuMemFree_v2");
  library.required(api.hostRegister, "cuMemHostRegister_v2");
  library.required(api.hostUnregister, "cuMemHostUnregister");
  library.required(api.pointerGet, "cuPointerGetAttribute");
  library.required(api.pointerSet, "cuPointerSetAttribute");
  library.required(api.granularity, "cuMemGetAllocationGranularity");
  library.required(api.create, "cuMemCreate");
  library.required(api.releaseHandle, "cuMemRelease");
  library.required(api.reserve, "cuMemAddressReserve");
  library.required(api.freeReserved, "cuMemAddressFree");
  library.required(api.map, "cuMemMap");
  library.required(api.unmap, "cuMemUnmap");
  library.required(api.setAccess, "cuMemSetAccess");
  library.optional(api.rangeHandle, "cuMemGetHandleForAddressRange");
  library.required(api.ipcGet, "cuIpcGetMemHandle");
  library.required(api.ipcOpen, "cuIpcOpenMemHandle_v2");
  library.required(api.ipcClose, "cuIpcCloseMemHandle");
  library.optional(api.flushWrites, "cuFlushGPUDirectRDMAWrites");
}

void bindWork(Library& library, Api& api) {
  library.required(api.copyAsync, "cuMemcpyAsync");
  library.required(api.copyPeerAsync, "cuMemcpyPeerAsync");
  library.required(api.streamCreate, "cuStreamCreate");
  library.required(api.streamDestroy, "cuStreamDestroy_v2");
  library.required(api.streamSynchronize, "cuStreamSynchronize");
  library.required(api.streamQuery, "cuStreamQuery");
  library.optional(api.streamWriteValue32, "cuStreamWriteValue32_v2");
  library.required(api.streamWaitEvent, "cuStreamWaitEvent");
  library.required(api.beginCapture, "cuStreamBeginCapture_v2");
  library.required(api.endCapture, "cuStreamEndCapture");
  library.required(api.graphInstantiate, "cuGraphInstantiateWithFlags");
  library.required(api.graphLaunch, "cuGraphLaunch");
  library.required(api.graphExecDestroy, "cuGraphExecDestroy");
  library.required(api.graphDestroy, "cuGraphDestroy");
  library.required(api.eventCreate, "cuEventCreate");
  library.required(api.eventDestroy, "cuEventDestroy_v2");
  library.required(api.eventRecord, "cuEventRecord");
  library.required(api.eventRecordWithFlags, "cuEventRecordWithFlags");
  library.required(api.eventQuery, "cuEventQuery");
  library.required(api.eventSynchronize, "cuEventSynchronize");
  library.required(api.eventElapsed, "cuEventElapsedTime");
  library.required(api.moduleLoad, "cuModuleLoadData");
  library.required(api.moduleUnload, "cuModuleUnload");
  library.required(api.moduleFunction, "cuModuleGetFunction");
  library.required(api.launch, "cuLaunchKernel");
}

Error noDriver(const char* linkerText) {
  return {.code = ErrorCode::kUnsupported,
          .tried = "use a GPU: no CUDA driver",
          .nativeText = linkerText == nullptr ? std::string(kLibrary) + " not found" : linkerText,
          .next = "install the NVIDIA driver, or make it visible in the container"};
}

/// What cuInit's refusal means, where its own words mislead.
Error initError(Code code) {
  if (code == kStubLibrary) {
    return {.code = ErrorCode::kUnsupported,
            .tried = "use a GPU: a toolkit's stub of libcuda was loaded in place of the driver",
            .nativeCode = code,
            .nativeText = "CUDA_ERROR_STUB_LIBRARY",
            .next = "take the toolkit's stubs folder out of LD_LIBRARY_PATH"};
  }
  Error refused = error("initialise the CUDA driver", code);
  if (code == kNoDevice) {
    refused.code = ErrorCode::kUnsupported;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    refused.next = visible == nullptr
                       ? "see what nvidia-smi says"
                       : fmt::format("CUDA_VISIBLE_DEVICES is '{}': it may hide them all", visible);
  }
  return refused;
}

Result<const Api*> open() {
  static Api table;
  // Never closed: the driver leaves threads and exit handlers behind.
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) return noDriver(dlerror());
  Library library(handle);
  bindDevices(library, table);
  bindMemory(library, table);
  bindWork(library, table);
  if (library.missing() != nullptr) {
    int version = 0;
    if (table.driverVersion != nullptr) table.driverVersion(&version);
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "use the CUDA driver: it is too old",
                 .nativeText = fmt::format("{} has no {}; it supports CUDA {}.{}", kLibrary,
                                           library.missing(), version / 1000, version % 1000 / 10),
                 .next = "use a driver for CUDA 11.4 or newer"};
  }
  if (const Code code = table.init(0); code != kSuccess) return initError(code);
  return &table;
}

std::optional<Api>& replacement() {
  static std::optional<Api> fake;
  return fake;
}

}  // namespace

Result<const Api*> api() {
  if (replacement()) return &*replacement();
  static const Result<const Api*> kOpened = open();
  return kOpened;
}

void replaceApi(const Api& fake) {
  replacement() = fake;
}

Error error(std::string tried, Code code, std::string next) {
  const char* text = nullptr;
  const char* word = nullptr;
  if (replacement()) {
    word = "fake";
  } else if (void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD)) {
    Api words;
    Library library(handle);
    library.optional(words.errorName, "cuGetErrorName");
    library.optional(words.errorString, "cuGetErrorString");
    if (words.errorName != nullptr) words.errorName(code, &word);
    if (words.errorString != nullptr) words.errorString(code, &text);
    dlclose(handle);
  }
  return {.code = code == kOutOfMemory ? ErrorCode::kNoMemory : ErrorCode::kTransport,
          .tried = std::move(tried),
          .nativeCode = code,
          .nativeText = fmt::format("{}{}{}", word == nullptr ? "CUDA error" : word,
                                    text == nullptr ? "" : ": ", text == nullptr ? "" : text),
          .next = std::move(next)};
}

}  // namespace gdrbench::cuda
