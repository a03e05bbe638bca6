// SPDX-License-Identifier: Apache-2.0
// The part of NVML's binary interface that is called here: types, constants and functions by name.
// They are fixed since the versions that the names carry. For harness/environment and
// harness/witness.
#pragma once

#include <fmt/format.h>

#include <string>

#include "harness/environment/nvml.h"

namespace gdrbench::nvml {

using Device = struct OpaqueDevice*;

struct PciInfo {
  char shortAddress[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char address[32];
};

struct Memory {  // the same for device memory and BAR1
  unsigned long long total, free, used;
};

/// One answer of nvmlDeviceGetFieldValues; field and scope are the question.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;  ///< of NVLink counters: the link
  long long timestamp = 0, latency = 0;
  unsigned type = 0;  ///< which member of `value` is meant
  int code = 0;       ///< of this field alone
  union {
    double real;
    int signed32;
    unsigned unsigned32;
    unsigned long unsignedLong;
    unsigned long long unsigned64;
    long long signed64;
    unsigned short unsigned16;
  } value = {.unsigned64 = 0};
};

constexpr unsigned kTypeUnsigned32 = 1;
constexpr unsigned kTypeUnsignedLong = 2;
constexpr unsigned kTypeUnsigned64 = 3;
constexpr unsigned kTypeSigned64 = 4;
constexpr unsigned kNvlinkCount = 91;         // NVLINK_LINK_COUNT: links of this GPU
constexpr unsigned kNvlinkSentKib = 138;      // NVLINK_THROUGHPUT_DATA_TX
constexpr unsigned kNvlinkReceivedKib = 139;  // NVLINK_THROUGHPUT_DATA_RX
constexpr unsigned kPcieSentBytes = 197;      // PCIE_COUNT_TX_BYTES
constexpr unsigned kPcieReceivedBytes = 198;  // PCIE_COUNT_RX_BYTES

constexpr int kOk = 0;
constexpr int kInvalidArgument = 2;
constexpr int kDriverNotLoaded = 9;
constexpr int kLibraryNotFound = 12;
constexpr int kVersionMismatch = 18;
constexpr int kMissingFunction = -1;  // ours: a driver older than the function

constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kRemoteSwitch = 2;
constexpr int kP2pRead = 0;
constexpr int kP2pWrite = 1;
constexpr int kP2pNvlink = 2;
constexpr unsigned kTextBytes = 96;  // all texts fit, terminator included
constexpr unsigned kMostLinks = 64;  // beyond those of any GPU: 18 on Hopper and Blackwell

/// One function of the library: calling it answers its code.
template <class... Params>
class Call {
 public:
  Call(const SymbolLookup& lookup, const char* name)
      : name_(name), function_(reinterpret_cast<int (*)(Params...)>(lookup(name))) {}

  template <class... Args>
  int operator()(Args... args) const {
    return function_ == nullptr ? kMissingFunction : function_(args...);
  }
  [[nodiscard]] const char* name() const { return name_; }

 private:
  const char* name_;
  int (*function_)(Params...);
};

struct Api {
  explicit Api(const SymbolLookup& lookup) : find(lookup) {}

  /// The library's own words for a code of `call`.
  template <class... Params>
  [[nodiscard]] std::string why(const Call<Params...>& call, int code) const {
    if (code == kMissingFunction) return fmt::format("this driver has no {}", call.name());
    const char* text = errorString == nullptr ? nullptr : errorString(code);
    return text == nullptr ? fmt::format("NVML error {}", code) : text;
  }

  const SymbolLookup& find;
  const char* (*errorString)(int) = reinterpret_cast<const char* (*)(int)>(find("nvmlErrorString"));
  Call<> init{find, "nvmlInit_v2"};
  Call<> shutdown{find, "nvmlShutdown"};
  Call<char*, unsigned> driverVersion{find, "nvmlSystemGetDriverVersion"};
  Call<int*> cudaVersion{find, "nvmlSystemGetCudaDriverVersion_v2"};
  Call<unsigned*> count{find, "nvmlDeviceGetCount_v2"};
  Call<unsigned, Device*> device{find, "nvmlDeviceGetHandleByIndex_v2"};

  Call<Device, char*, unsigned> name{find, "nvmlDeviceGetName"};
  Call<Device, char*, unsigned> uuid{find, "nvmlDeviceGetUUID"};
  Call<Device, PciInfo*> pci{find, "nvmlDeviceGetPciInfo_v3"};
  Call<Device, Memory*> memory{find, "nvmlDeviceGetMemoryInfo"};
  Call<Device, Memory*> bar1{find, "nvmlDeviceGetBAR1MemoryInfo"};
  Call<Device, int, unsigned*> clock{find, "nvmlDeviceGetClockInfo"};
  Call<Device, int, unsigned*> maxClock{find, "nvmlDeviceGetMaxClockInfo"};
  Call<Device, unsigned*, unsigned*> ecc{find, "nvmlDeviceGetEccMode"};
  Call<Device, unsigned*> persistence{find, "nvmlDeviceGetPersistenceMode"};
  Call<Device, unsigned*, unsigned*> mig{find, "nvmlDeviceGetMigMode"};
  Call<Device, unsigned*> migCount{find, "nvmlDeviceGetMaxMigDeviceCount"};
  Call<Device, unsigned, Device*> migDevice{find, "nvmlDeviceGetMigDeviceHandleByIndex"};
  Call<Device, unsigned*> pcieGeneration{find, "nvmlDeviceGetCurrPcieLinkGeneration"};
  Call<Device, unsigned*> pcieWidth{find, "nvmlDeviceGetCurrPcieLinkWidth"};
  Call<Device, unsigned*> pcieMaxGeneration{find, "nvmlDeviceGetMaxPcieLinkGeneration"};
  Call<Device, unsigned*> pcieMaxWidth{find, "nvmlDeviceGetMaxPcieLinkWidth"};

  Call<Device, unsigned, unsigned*> linkState{find, "nvmlDeviceGetNvLinkState"};
  Call<Device, unsigned, int*> linkRemoteType{find, "nvmlDeviceGetNvLinkRemoteDeviceType"};
  Call<Device, unsigned, PciInfo*> linkRemotePci{find, "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
  Call<Device, Device, int*> ancestor{find, "nvmlDeviceGetTopologyCommonAncestor"};
  Call<Device, Device, int, int*> p2p{find, "nvmlDeviceGetP2PStatus"};

  Call<const char*, Device*> deviceByPci{find, "nvmlDeviceGetHandleByPciBusId_v2"};
  Call<Device, int, FieldValue*> fieldValues{find, "nvmlDeviceGetFieldValues"};
};

}  // namespace gdrbench::nvml
