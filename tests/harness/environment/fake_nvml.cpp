// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/environment/fake_nvml.h"

#include <algorithm>
#include <cstring>

#include "harness/environment/pci_address.h"

namespace gdrbench::test {
namespace {

using nvml::Device;
using nvml::Memory;
using nvml::PciInfo;

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kLost = 15;

FakeNvml* driver = nullptr;  // C functions have no other way to what they answer from

FakeGpu& gpuOf(Device device) {
  return *reinterpret_cast<FakeGpu*>(device);
}

/// MIG instances are handles of their own kind: a UUID.
std::map<Device, std::string> instances;

int refusal(Device device, const char* function) {
  return gpuOf(device).refused.contains(function) ? kNotSupported : nvml::kOk;
}

int fill(char* out, unsigned size, const std::string& text) {
  if (text.size() >= size) return 7;
  std::strcpy(out, text.c_str());
  return nvml::kOk;
}

int fill(PciInfo* out, const std::string& address) {
  return fill(out->address, sizeof out->address, address);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

template <unsigned FakeGpu::*Field>
int number(Device device, unsigned* out) {
  *out = gpuOf(device).*Field;
  return nvml::kOk;
}

template <unsigned FakeGpu::*Field>
int mode(Device device, unsigned* now, unsigned* pending) {
  const char* function = Field == &FakeGpu::ecc ? "nvmlDeviceGetEccMode" : "nvmlDeviceGetMigMode";
  *now = gpuOf(device).*Field;
  *pending = 1 - *now;  // to be told apart
  return refusal(device, function);
}

const char* errorString(int code) {
  switch (code) {
    case nvml::kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case kLost:
      return "GPU is lost";
    case nvml::kVersionMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

int init() {
  if (driver->initCode == nvml::kOk) ++driver->initialised;
  return driver->initCode;
}
int shutdown() {
  --driver->initialised;
  return nvml::kOk;
}
int driverVersion(char* out, unsigned size) {
  return fill(out, size, "580.159.03");
}
int cudaVersion(int* out) {
  *out = 13010;
  return nvml::kOk;
}
int count(unsigned* out) {
  *out = static_cast<unsigned>(driver->gpus.size());
  return nvml::kOk;
}
int device(unsigned index, Device* out) {
  FakeGpu& gpu = driver->gpus.at(index);
  *out = reinterpret_cast<Device>(&gpu);
  return gpu.lost ? kLost : nvml::kOk;
}
int name(Device device, char* out, unsigned size) {
  return fill(out, size, gpuOf(device).name);
}
int uuid(Device device, char* out, unsigned size) {
  const auto instance = instances.find(device);
  return fill(out, size, instance != instances.end() ? instance->second : gpuOf(device).uuid);
}
int pci(Device device, PciInfo* out) {
  return fill(out, gpuOf(device).pci);
}
int memory(Device device, Memory* out) {
  *out = {gpuOf(device).memory, 1, 2};
  return nvml::kOk;
}
int bar1(Device device, Memory* out) {
  *out = {256ULL << 30, 1, 2};
  return refusal(device, "nvmlDeviceGetBAR1MemoryInfo");
}
int clock(Device device, int type, unsigned* out) {
  *out = type == nvml::kClockSm ? gpuOf(device).sm : gpuOf(device).memoryClock;
  return nvml::kOk;
}
int maxClock(Device device, int type, unsigned* out) {
  *out = type == nvml::kClockSm ? gpuOf(device).smMax : gpuOf(device).memoryClock;
  return nvml::kOk;
}
int migCount(Device device, unsigned* out) {
  *out = static_cast<unsigned>(gpuOf(device).instances.size());
  return nvml::kOk;
}
int migDevice(Device device, unsigned index, Device* out) {
  std::string& instance = gpuOf(device).instances.at(index);
  if (instance.empty()) return kNotFound;
  *out = reinterpret_cast<Device>(&instance);
  instances[*out] = instance;
  return nvml::kOk;
}

const FakeLink* linkOf(Device device, unsigned link) {
  const auto& links = gpuOf(device).links;
  return link < links.size() ? &links[link] : nullptr;
}
int linkState(Device device, unsigned link, unsigned* out) {
  if (const int code = refusal(device, "nvmlDeviceGetNvLinkState"); code != nvml::kOk) return code;
  const FakeLink* one = linkOf(device, link);
  // Without links the driver refuses the question itself.
  if (one == nullptr) return gpuOf(device).links.empty() ? kNotSupported : nvml::kInvalidArgument;
  *out = one->on ? 1 : 0;
  return one->code;
}
int linkRemoteType(Device device, unsigned link, int* out) {
  *out = linkOf(device, link)->remoteType;
  return nvml::kOk;
}
int linkRemotePci(Device device, unsigned link, PciInfo* out) {
  const FakeLink* one = linkOf(device, link);
  return one->remote.empty() ? kNotSupported : fill(out, one->remote);
}
int ancestor(Device, Device, int* out) {
  *out = driver->ancestor;
  return nvml::kOk;
}
int p2p(Device, Device, int what, int* out) {
  *out = what == nvml::kP2pRead    ? driver->p2pRead
         : what == nvml::kP2pWrite ? driver->p2pWrite
                                   : driver->p2pNvlink;
  return nvml::kOk;
}

int deviceByPci(const char* address, Device* out) {
  const auto wanted = normalisedPciAddress(address);
  for (FakeGpu& gpu : driver->gpus) {
    if (normalisedPciAddress(gpu.pci) != wanted) continue;
    *out = reinterpret_cast<Device>(&gpu);
    return gpu.lost ? kLost : nvml::kOk;
  }
  return kNotFound;
}
int fieldValues(Device device, int count, nvml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    nvml::FieldValue& value = values[i];
    driver->asked.insert({value.field, value.scope});
    const auto found = gpuOf(device).fields.find({value.field, value.scope});
    value.code = found == gpuOf(device).fields.end() ? kNotSupported : nvml::kOk;
    if (value.code != nvml::kOk) continue;
    value.type = nvml::kTypeUnsigned64;
    value.value.unsigned64 = found->second;
  }
  return refusal(device, "nvmlDeviceGetFieldValues");
}

const std::map<std::string, void*>& functions() {
  static const std::map<std::string, void*> all = {
      {"nvmlErrorString", address(errorString)},
      {"nvmlInit_v2", address(init)},
      {"nvmlShutdown", address(shutdown)},
      {"nvmlSystemGetDriverVersion", address(driverVersion)},
      {"nvmlSystemGetCudaDriverVersion_v2", address(cudaVersion)},
      {"nvmlDeviceGetCount_v2", address(count)},
      {"nvmlDeviceGetHandleByIndex_v2", address(device)},
      {"nvmlDeviceGetName", address(name)},
      {"nvmlDeviceGetUUID", address(uuid)},
      {"nvmlDeviceGetPciInfo_v3", address(pci)},
      {"nvmlDeviceGetMemoryInfo", address(memory)},
      {"nvmlDeviceGetBAR1MemoryInfo", address(bar1)},
      {"nvmlDeviceGetClockInfo", address(clock)},
      {"nvmlDeviceGetMaxClockInfo", address(maxClock)},
      {"nvmlDeviceGetEccMode", address(mode<&FakeGpu::ecc>)},
      {"nvmlDeviceGetPersistenceMode", address(number<&FakeGpu::persistence>)},
      {"nvmlDeviceGetMigMode", address(mode<&FakeGpu::mig>)},
      {"nvmlDeviceGetMaxMigDeviceCount", address(migCount)},
      {"nvmlDeviceGetMigDeviceHandleByIndex", address(migDevice)},
      {"nvmlDeviceGetCurrPcieLinkGeneration", address(number<&FakeGpu::generation>)},
      {"nvmlDeviceGetCurrPcieLinkWidth", address(number<&FakeGpu::width>)},
      {"nvmlDeviceGetMaxPcieLinkGeneration", address(number<&FakeGpu::generation>)},
      {"nvmlDeviceGetMaxPcieLinkWidth", address(number<&FakeGpu::width>)},
      {"nvmlDeviceGetNvLinkState", address(linkState)},
      {"nvmlDeviceGetNvLinkRemoteDeviceType", address(linkRemoteType)},
      {"nvmlDeviceGetNvLinkRemotePciInfo_v2", address(linkRemotePci)},
      {"nvmlDeviceGetTopologyCommonAncestor", address(ancestor)},
      {"nvmlDeviceGetP2PStatus", address(p2p)},
      {"nvmlDeviceGetHandleByPciBusId_v2", address(deviceByPci)},
      {"nvmlDeviceGetFieldValues", address(fieldValues)},
  };
  return all;
}

}  // namespace

FakeNvml::FakeNvml() {
  driver = this;
}
FakeNvml::~FakeNvml() {
  driver = nullptr;
  instances.clear();
}

SymbolLookup FakeNvml::lookup() const {
  return [this](const char* name) -> void* {
    const auto found = functions().find(name);
    return found == functions().end() || missing.contains(name) ? nullptr : found->second;
  };
}

std::vector<FakeLink> switched(int count) {
  return std::vector<FakeLink>(static_cast<std::size_t>(count), {.remoteType = 2});
}

}  // namespace gdrbench::test
