// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/cupti.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/environment/files.h"

namespace gdrbench::witness::cupti {
namespace {

constexpr const char* kTried = "open CUPTI";
constexpr Code kOtherSubscriber = 39;  // one profiler in a process, up to CUDA 13.2

template <class Function>
bool take(const SymbolLookup& lookup, const char* name, Function*& into, std::string& missing) {
  into = reinterpret_cast<Function*>(lookup(name));
  if (into == nullptr && missing.empty()) missing = name;
  return into != nullptr;
}

/// The newest name first: the driver runs tools of its own version and of older ones.
std::vector<std::string> candidates() {
  std::vector<std::string> names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  const std::string local = "/usr/local/";
  const std::vector<std::string> versions = namesIn(local);
  for (auto each = versions.rbegin(); each != versions.rend(); ++each) {
    if (!each->starts_with("cuda")) continue;
    names.push_back(local + *each + "/lib64/libcupti.so");
    names.push_back(local + *each + "/extras/CUPTI/lib64/libcupti.so");
  }
  return names;
}

}  // namespace

bool versionKnown(std::uint32_t version) {
  constexpr std::uint32_t kFirstOf12 = 19;
  constexpr std::uint32_t kLastOf12 = 28;
  constexpr std::uint32_t kOneMajor = 10000;
  return (version >= kFirstOf12 && version <= kLastOf12) || version / kOneMajor == 13;
}

Result<Api> Api::load(const SymbolLookup& lookup) {
  Api api;
  std::string missing;
  take(lookup, "cuptiGetVersion", api.version, missing);
  take(lookup, "cuptiGetResultString", api.resultString, missing);
  take(lookup, "cuptiGetTimestamp", api.timestamp, missing);
  take(lookup, "cuptiActivityRegisterCallbacks", api.registerCallbacks, missing);
  take(lookup, "cuptiActivityEnable", api.enable, missing);
  take(lookup, "cuptiActivityDisable", api.disable, missing);
  take(lookup, "cuptiActivityFlushAll", api.flushAll, missing);
  take(lookup, "cuptiActivityGetNextRecord", api.nextRecord, missing);
  take(lookup, "cuptiActivityGetNumDroppedRecords", api.droppedRecords, missing);
  if (!missing.empty()) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = kTried,
                 .nativeText = fmt::format("it has no {}", missing)};
  }
  std::uint32_t version = 0;
  if (const Code code = api.version(&version); code != kOk) return api.error(kTried, code);
  if (versionKnown(version)) return api;
  return Error{.code = ErrorCode::kUnsupported,
               .tried = kTried,
               .nativeText = fmt::format("the layout of records in its version {} is not known; "
                                         "that of CUDA 12 and 13 is",
                                         version)};
}

Error Api::error(const char* tried, Code code) const {
  const char* text = nullptr;
  const bool known = resultString(code, &text) == kOk && text != nullptr;
  return {.code = ErrorCode::kUnsupported,
          .tried = tried,
          .nativeCode = code,
          .nativeText = known ? text : "CUPTI error",
          .next = code == kOtherSubscriber ? "run it without the other profiler" : ""};
}

Result<SymbolLookup> openLibrary() {
  for (const std::string& name : candidates()) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    return SymbolLookup([library](const char* symbol) { return dlsym(library, symbol); });
  }
  return Error{.code = ErrorCode::kNotFound,
               .tried = kTried,
               .nativeText = "no libcupti by the loader's paths or in /usr/local/cuda*",
               .next = "install the CUDA toolkit's cupti package"};
}

}  // namespace gdrbench::witness::cupti
