// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "transports/nccl/options.h"

namespace gdrbench::nccl {
namespace {

constexpr int kOldest = 21800;

template <class F>
void bind(void* handle, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(handle, name));
}

Api bindAll(void* handle) {
  Api api;
  bind(handle, api.version, "ncclGetVersion");
  bind(handle, api.uniqueId, "ncclGetUniqueId");
  bind(handle, api.initRank, "ncclCommInitRankConfig");
  bind(handle, api.finalize, "ncclCommFinalize");
  bind(handle, api.destroy, "ncclCommDestroy");
  bind(handle, api.abort, "ncclCommAbort");
  bind(handle, api.asyncError, "ncclCommGetAsyncError");
  bind(handle, api.errorString, "ncclGetErrorString");
  bind(handle, api.lastError, "ncclGetLastError");
  bind(handle, api.send, "ncclSend");
  bind(handle, api.recv, "ncclRecv");
  bind(handle, api.groupStart, "ncclGroupStart");
  bind(handle, api.groupEnd, "ncclGroupEnd");
  bind(handle, api.registerBuffer, "ncclCommRegister");
  bind(handle, api.deregisterBuffer, "ncclCommDeregister");
  return api;
}

bool complete(const Api& api) {
  return api.version != nullptr && api.uniqueId != nullptr && api.initRank != nullptr &&
         api.finalize != nullptr && api.destroy != nullptr && api.abort != nullptr &&
         api.asyncError != nullptr && api.errorString != nullptr && api.lastError != nullptr &&
         api.send != nullptr && api.recv != nullptr && api.groupStart != nullptr &&
         api.groupEnd != nullptr;
}

std::string pathOf(const Api& api) {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(api.version), &info) != 0;
  return known && info.dli_fname != nullptr ? info.dli_fname : "unknown";
}

/// "2.28.3": from 2.9 on the number has two digits for the minor version.
std::string versionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<Library> open() {
  // Never closed: its threads and exit handlers outlive every communicator.
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "use NCCL",
                 .nativeText = text == nullptr ? "libnccl.so.2 not found" : text,
                 .next = "install NCCL, or give its path as library:"};
  }
  Library found{.api = bindAll(handle), .path = {}, .version = {}};
  int version = 0;
  if (found.api.version != nullptr) found.api.version(&version);
  found.path = pathOf(found.api);
  found.version = versionText(version);
  if (complete(found.api) && version >= kOldest) return found;
  return Error{.code = ErrorCode::kUnsupported,
               .tried = fmt::format("use NCCL {} ({})", found.version, found.path),
               .nativeText = "it is older than 2.18"};
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> kOpened = open();
  if (!kOpened) return kOpened.error();
  return &*kOpened;
}

Error error(const Api& api, std::string tried, Code code, Comm comm) {
  const char* last = api.lastError(comm);
  std::string text = api.errorString(code);
  if (last != nullptr && *last != '\0') text += fmt::format(" ({})", last);
  return {.code = ErrorCode::kTransport,
          .tried = std::move(tried),
          .nativeCode = code,
          .nativeText = std::move(text)};
}

}  // namespace gdrbench::nccl
