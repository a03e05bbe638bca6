// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "harness/environment/nvml_api.h"
#include "harness/environment/nvml_links.h"
#include "harness/environment/pci_address.h"

namespace gdrbench {
namespace nvml {
namespace {

/// The last parameter of `call` is where it answers.
template <class Out, class... Params, class... Args>
Known<Out> ask(const Api& api, const Call<Params...>& call, Args... args) {
  Out out{};
  const int code = call(args..., &out);
  if (code != kOk) return Known<Out>::unknown(api.why(call, code));
  return out;
}

template <class... Params, class... Args>
Known<int> askNumber(const Api& api, const Call<Params...>& call, Args... args) {
  const auto number = ask<unsigned>(api, call, args...);
  if (!number) return Known<int>::unknown(number.why);
  return static_cast<int>(*number);
}

template <class... Params, class... Args>
Known<std::string> askText(const Api& api, const Call<Params...>& call, Args... args) {
  std::array<char, kTextBytes> text{};
  const int code = call(args..., text.data(), kTextBytes - 1);
  if (code != kOk) return Known<std::string>::unknown(api.why(call, code));
  return std::string(text.data());
}

/// Current mode; what it will be after the next reset is left out.
Known<bool> askMode(const Api& api, const Call<Device, unsigned*, unsigned*>& call, Device device) {
  unsigned now = 0;
  unsigned pending = 0;
  const int code = call(device, &now, &pending);
  if (code != kOk) return Known<bool>::unknown(api.why(call, code));
  return now != 0;
}

Known<std::uint64_t> askTotal(const Api& api, const Call<Device, Memory*>& call, Device device) {
  const auto memory = ask<Memory>(api, call, device);
  if (!memory) return Known<std::uint64_t>::unknown(memory.why);
  return std::uint64_t{(*memory).total};
}

std::string pciOf(const Api& api, Device device) {
  const auto pci = ask<PciInfo>(api, api.pci, device);
  if (!pci) return "";
  PciInfo info = *pci;
  info.address[sizeof info.address - 1] = '\0';
  return normalisedPciAddress(info.address).value_or("");
}

std::vector<std::string> migUuids(const Api& api, Device device) {
  std::vector<std::string> uuids;
  const int most = askNumber(api, api.migCount, device).value.value_or(0);
  for (int i = 0; i < most; ++i) {
    const auto instance = ask<Device>(api, api.migDevice, device, static_cast<unsigned>(i));
    if (!instance) continue;  // a place without an instance
    if (auto uuid = askText(api, api.uuid, *instance)) uuids.push_back(*uuid);
  }
  return uuids;
}

Gpu readGpu(const Api& api, Device device) {
  Gpu gpu;
  gpu.pci = pciOf(api, device);
  gpu.name = askText(api, api.name, device);
  gpu.uuid = askText(api, api.uuid, device);
  gpu.memoryBytes = askTotal(api, api.memory, device);
  gpu.bar1Bytes = askTotal(api, api.bar1, device);
  gpu.smMHz = askNumber(api, api.clock, device, kClockSm);
  gpu.smMaxMHz = askNumber(api, api.maxClock, device, kClockSm);
  gpu.memoryMHz = askNumber(api, api.clock, device, kClockMemory);
  gpu.memoryMaxMHz = askNumber(api, api.maxClock, device, kClockMemory);
  gpu.ecc = askMode(api, api.ecc, device);
  gpu.mig = askMode(api, api.mig, device);
  if (gpu.mig.value.value_or(false)) gpu.migUuids = migUuids(api, device);
  const auto persistence = askNumber(api, api.persistence, device);
  gpu.persistence =
      persistence ? Known<bool>(*persistence != 0) : Known<bool>::unknown(persistence.why);
  gpu.pcieGeneration = askNumber(api, api.pcieGeneration, device);
  gpu.pcieWidth = askNumber(api, api.pcieWidth, device);
  gpu.pcieMaxGeneration = askNumber(api, api.pcieMaxGeneration, device);
  gpu.pcieMaxWidth = askNumber(api, api.pcieMaxWidth, device);
  return gpu;
}

/// A GPU whose handle cannot be had: all of it is unknown, for one reason.
Gpu deadGpu(const std::string& why) {
  Gpu gpu;
  gpu.problem = why;
  gpu.name = gpu.uuid = Known<std::string>::unknown(why);
  gpu.memoryBytes = gpu.bar1Bytes = Known<std::uint64_t>::unknown(why);
  gpu.smMHz = gpu.smMaxMHz = gpu.memoryMHz = gpu.memoryMaxMHz = Known<int>::unknown(why);
  gpu.ecc = gpu.persistence = gpu.mig = Known<bool>::unknown(why);
  gpu.pcieGeneration = gpu.pcieWidth = Known<int>::unknown(why);
  gpu.pcieMaxGeneration = gpu.pcieMaxWidth = gpu.nvlinks = Known<int>::unknown(why);
  return gpu;
}

Known<PathClass> pathBetween(const Api& api, Device a, Device b) {
  const auto level = ask<int>(api, api.ancestor, a, b);
  if (!level) return Known<PathClass>::unknown(level.why);
  constexpr std::array kLevels = {PathClass::kSame, PathClass::kPix,  PathClass::kPxb,
                                  PathClass::kPhb,  PathClass::kNode, PathClass::kSys};
  if (*level < 0 || *level % 10 != 0 || *level > 50) {
    return Known<PathClass>::unknown(fmt::format("NVML's level {}", *level));
  }
  return kLevels.at(static_cast<std::size_t>(*level / 10));
}

std::string p2pWords(int status) {
  constexpr std::array<const char*, 6> kWords = {"ok",
                                                 "chipset not supported",
                                                 "GPU not supported",
                                                 "topology not supported",
                                                 "disabled by registry key",
                                                 "not supported"};
  if (status < 0 || static_cast<std::size_t>(status) >= kWords.size()) {
    return fmt::format("status {}", status);
  }
  return kWords.at(static_cast<std::size_t>(status));
}

/// Reads and writes; one word when they agree.
Known<std::string> p2pBetween(const Api& api, Device a, Device b) {
  const auto read = ask<int>(api, api.p2p, a, b, kP2pRead);
  const auto write = ask<int>(api, api.p2p, a, b, kP2pWrite);
  if (!read || !write) return Known<std::string>::unknown(read ? write.why : read.why);
  if (*read == *write) return p2pWords(*read);
  return fmt::format("read {}, write {}", p2pWords(*read), p2pWords(*write));
}

struct Found {
  Device device = nullptr;
  Gpu gpu;
  Links links;
};

GpuPair readPair(const Api& api, const Found& a, const Found& b) {
  GpuPair pair{.a = a.gpu.index, .b = b.gpu.index};
  if (!a.gpu.problem.empty() || !b.gpu.problem.empty()) {
    const std::string& why = a.gpu.problem.empty() ? b.gpu.problem : a.gpu.problem;
    pair.nvlinks = Known<int>::unknown(why);
    pair.route = NvlinkRoute::kUnknown;
    pair.path = Known<PathClass>::unknown(why);
    pair.p2p = Known<std::string>::unknown(why);
    return pair;
  }
  const auto nvlink = ask<int>(api, api.p2p, a.device, b.device, kP2pNvlink);
  joinByLinks(pair, a.gpu.pci, a.links, b.gpu.pci, b.links, nvlink.value == 0);
  pair.path = pathBetween(api, a.device, b.device);
  const bool mig = a.gpu.mig.value.value_or(false) || b.gpu.mig.value.value_or(false);
  pair.p2p = mig ? Known<std::string>("n/a (MIG)") : p2pBetween(api, a.device, b.device);
  return pair;
}

std::vector<Found> readAll(const Api& api, unsigned count) {
  std::vector<Found> found;
  for (unsigned i = 0; i < count; ++i) {
    Found one;
    if (const auto device = ask<Device>(api, api.device, i)) {
      one.device = *device;
      one.gpu = readGpu(api, *device);
      one.links = readLinks(api, *device);
      one.gpu.nvlinks = one.links.active;
    } else {
      one.gpu = deadGpu(device.why);
    }
    one.gpu.index = static_cast<int>(i);
    found.push_back(std::move(one));
  }
  return found;
}

Error initError(const Api& api, int code) {
  Error error{.code = ErrorCode::kNotFound,
              .tried = "find GPUs",
              .nativeCode = code,
              .nativeText = api.why(api.init, code)};
  if (code == kDriverNotLoaded) {
    error.next = "load the kernel module (modprobe nvidia), and give a container its GPUs";
  } else if (code == kVersionMismatch) {
    error.next = "the driver was updated: restart the machine or reload the kernel module";
  } else if (code == kLibraryNotFound || code == kMissingFunction) {
    error.next = "is this the toolkit's stub library? take its folder out of LD_LIBRARY_PATH";
  }
  return error;
}

GpuInventory takeInventory(const Api& api, unsigned count) {
  GpuInventory all;
  const auto driver = askText(api, api.driverVersion);
  all.driver = driver ? *driver : unknownText(driver.why);
  const auto cuda = ask<int>(api, api.cudaVersion);
  all.cudaDriver =
      cuda ? fmt::format("{}.{}", *cuda / 1000, *cuda % 1000 / 10) : unknownText(cuda.why);
  const std::vector<Found> found = readAll(api, count);
  for (std::size_t i = 0; i < found.size(); ++i) {
    all.gpus.push_back(found[i].gpu);
    for (std::size_t j = i + 1; j < found.size(); ++j) {
      all.pairs.push_back(readPair(api, found[i], found[j]));
    }
  }
  return all;
}

}  // namespace
}  // namespace nvml

Result<SymbolLookup> openNvml() {
  constexpr const char* kLibrary = "libnvidia-ml.so.1";
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string why = dlerror();
    const bool absent = why.find("cannot open shared object file") != std::string::npos;
    return Error{.code = ErrorCode::kNotFound,
                 .tried = "find GPUs",
                 .nativeText = absent ? fmt::format("no NVIDIA driver: {} not found", kLibrary)
                                      : fmt::format("{} cannot be loaded: {}", kLibrary, why)};
  }
  return SymbolLookup([library](const char* name) { return dlsym(library, name); });
}

Result<GpuInventory> readGpus(const SymbolLookup& lookup) {
  const nvml::Api api(lookup);
  if (const int code = api.init(); code != nvml::kOk) return nvml::initError(api, code);
  const auto count = nvml::ask<unsigned>(api, api.count);
  Result<GpuInventory> all =
      count ? Result<GpuInventory>(nvml::takeInventory(api, *count))
            : Error{.code = ErrorCode::kNotFound, .tried = "count GPUs", .nativeText = count.why};
  api.shutdown();
  if (count && *count == 0) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = "find GPUs",
                 .nativeText = "the NVIDIA driver has none",
                 .next = "in a container: was it started with GPUs?"};
  }
  return all;
}

}  // namespace gdrbench
