// SPDX-License-Identifier: Apache-2.0
#include "transports/registry.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "harness/core/text.h"
#include "transports/cuda_copy/cuda_copy_transport.h"
#include "transports/loopback/loopback_transport.h"
#include "transports/nccl/nccl_transport.h"
#include "transports/nccl/options.h"
#include "transports/null/null_transport.h"
#include "transports/staged/staged_transport.h"
#include "transports/tcp/tcp_transport.h"
#if __has_include("transports/libfabric/options.h")
#include "transports/libfabric/options.h"
#define GDRBENCH_KNOWS_LIBFABRIC
#endif
#if __has_include("transports/verbs/options.h")
#include "transports/verbs/options.h"
#define GDRBENCH_KNOWS_VERBS
#endif

namespace gdrbench {
namespace {

constexpr std::string_view kCudaEnvironment[] = {"CUDA_"};
constexpr std::string_view kNcclEnvironment[] = {"NCCL_"};

#ifdef GDRBENCH_KNOWS_LIBFABRIC
constexpr std::string_view kLibfabricEnvironment[] = {"FI_"};
#endif
#ifdef GDRBENCH_KNOWS_VERBS
constexpr std::string_view kVerbsEnvironment[] = {"IBV_", "RDMAV_", "MLX5_", "MLX4_"};
#endif

using MakeTransport = Transport*();

/// The dynamic linker's last word.
std::string linkerText() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

/// Loaded before the module and for all to see, a library of the soname that the module needs is
/// the one that it gets.
Status preload(const std::string& library) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return Done{};
  return Error{.code = ErrorCode::kNotFound,
               .tried = "load library: " + library,
               .nativeText = linkerText(),
               .next = "give the path of the shared library itself"};
}

Result<std::filesystem::path> moduleFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return systemError("read /proc/self/exe", error.value());
  return program.parent_path() / "modules";
}

/// Never closed: vendor libraries leave threads and exit handlers behind.
Result<std::unique_ptr<Transport>> makeFromModule(const TransportEntry& entry) {
  Result<std::filesystem::path> folder = moduleFolder();
  if (!folder) return folder.error();
  const std::string path = (*folder / entry.module).string();
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = fmt::format("load the {} transport", entry.name),
                 .nativeText = linkerText(),
                 .next = "install the library that it names, or set library: to its path"};
  }
  auto* make = reinterpret_cast<MakeTransport*>(dlsym(module, kModuleEntry));
  if (make == nullptr) {
    return Error{.code = ErrorCode::kMismatch,
                 .tried = fmt::format("find {} in {}", kModuleEntry, path),
                 .nativeText = linkerText(),
                 .next = "use the module of this build of gdrbench"};
  }
  return std::unique_ptr<Transport>(make());
}

/// Linked in; what of them needs a vendor's library opens it by name.
std::vector<TransportEntry> linkedTransports() {
  return {
      {.name = "null",
       .summary = "moves nothing: what the harness itself costs",
       .options = null::options(),
       .capabilities = null::capabilities,
       .make = null::make,
       .overheadReference = true},
      {.name = "loopback",
       .summary = "shared memory between two processes of one host, by CPU copies",
       .options = loopback::options(),
       .capabilities = loopback::capabilities,
       .validate = loopback::validate,
       .make = loopback::make,
       .stagedControl = true},
      {.name = "tcp",
       .summary = "plain TCP sockets of the kernel",
       .options = tcp::options(),
       .capabilities = tcp::capabilities,
       .validate = tcp::validate,
       .make = tcp::make},
      {.name = "cuda_copy",
       .summary = "copies by the CUDA driver: GPU to GPU of one host, host to and from a GPU",
       .options = cuda_copy::options(),
       .capabilities = cuda_copy::capabilities,
       .label = cuda_copy::label,
       .make = cuda_copy::make,
       .directControl = true,
       .environment = kCudaEnvironment},
      {.name = "nccl",
       .summary = "NCCL send and receive between two GPUs",
       .options = nccl::options(),
       .capabilities = nccl::capabilities,
       .validate = nccl::validate,
       .label = nccl::label,
       .make = nccl::make,
       .vendorLibrary = nccl::kLibrary,
       .environment = kNcclEnvironment,
       .pathVariables = nccl::kPathVariables,
       .libraryStaged = nccl::libraryStaged},
  };
}

#ifdef GDRBENCH_KNOWS_LIBFABRIC
TransportEntry libfabricEntry() {
  TransportEntry entry = {.name = "libfabric",
                          .summary = "libfabric: messages and RMA over its providers",
                          .options = libfabric::options(),
                          .capabilities = libfabric::capabilities,
                          .validate = libfabric::validate,
                          .label = libfabric::label,
                          .environment = kLibfabricEnvironment,
                          .pathVariables = libfabric::kPathVariables,
                          .libraryStaged = libfabric::libraryStaged};
#ifdef GDRBENCH_HAS_LIBFABRIC
  entry.module = "gdrbench-libfabric.so";
#else
  entry.notBuilt = "GDRBENCH_LIBFABRIC";
#endif
  return entry;
}
#endif

#ifdef GDRBENCH_KNOWS_VERBS
TransportEntry verbsEntry() {
  TransportEntry entry = {.name = "verbs",
                          .summary = "raw verbs: reliable connections over InfiniBand or RoCE",
                          .options = verbs::options(),
                          .capabilities = verbs::capabilities,
                          .validate = verbs::validate,
                          .label = verbs::label,
                          .environment = kVerbsEnvironment};
#ifdef GDRBENCH_HAS_VERBS
  entry.module = "gdrbench-verbs.so";
#else
  entry.notBuilt = "GDRBENCH_VERBS";
#endif
  return entry;
}
#endif

}  // namespace

const TransportEntry* Registry::find(std::string_view name) const {
  for (const TransportEntry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<std::unique_ptr<Transport>> Registry::make(std::string_view name,
                                                  const std::string& library) const {
  const TransportEntry* entry = find(name);
  if (entry == nullptr) {
    std::vector<std::string_view> names;
    names.reserve(entries_.size());
    for (const TransportEntry& each : entries_) names.push_back(each.name);
    return Error{
        .code = ErrorCode::kUsage,
        .tried = fmt::format("there is no transport '{}'{}", name, suggestion(name, names))};
  }
  if (entry->make == nullptr && entry->module.empty()) {
    return Error{.code = ErrorCode::kNotBuilt,
                 .tried = fmt::format("use transport {}: this gdrbench was built without it", name),
                 .next = fmt::format("build with -D{}=ON", entry->notBuilt)};
  }
  if (!library.empty()) {
    if (entry->module.empty() && entry->vendorLibrary.empty()) {
      return Error{.code = ErrorCode::kConfig,
                   .tried = fmt::format("library: transport {} uses no vendor library", name)};
    }
    if (Status loaded = preload(library); !loaded) return loaded.error();
  }
  if (entry->make != nullptr) return entry->make();
  return makeFromModule(*entry);
}

Registry builtinTransports() {
  std::vector<TransportEntry> entries = linkedTransports();
#ifdef GDRBENCH_KNOWS_LIBFABRIC
  entries.push_back(libfabricEntry());
#endif
#ifdef GDRBENCH_KNOWS_VERBS
  entries.push_back(verbsEntry());
#endif
  return Registry(std::move(entries), {.options = staged::options(),
                                       .capabilities = staged::capabilities,
                                       .make = staged::makeStaged});
}

}  // namespace gdrbench
