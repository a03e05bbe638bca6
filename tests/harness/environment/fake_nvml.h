// SPDX-License-Identifier: Apache-2.0
// A driver's management library in the test: GPUs as data, behind the names of NVML's functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/environment/nvml_api.h"

namespace gdrbench::test {

struct FakeLink {
  bool on = true;
  int remoteType = 0;    ///< 0 GPU, 2 switch, 255 unknown
  std::string remote;    ///< PCI address as NVML writes it; empty: it does not say
  int code = nvml::kOk;  ///< of asking for the state
};

struct FakeGpu {
  std::string pci;
  std::string name = "NVIDIA H200";
  std::string uuid;
  unsigned long long memory = 143771ULL << 20;
  unsigned sm = 345, smMax = 1980, memoryClock = 3201;
  unsigned ecc = 1, persistence = 1, mig = 0;
  std::vector<std::string> instances;  ///< of MIG; an empty one is a place without
  unsigned generation = 5, width = 16;
  std::vector<FakeLink> links;
  std::set<std::string> refused;  ///< functions that this GPU does not support
  /// Field values by field and scope; what is not there is not supported.
  std::map<std::pair<unsigned, unsigned>, unsigned long long> fields;
  bool lost = false;
};

struct FakeNvml {
  int initCode = nvml::kOk;
  std::vector<FakeGpu> gpus;
  std::set<std::string> missing;  ///< functions that this driver does not have
  int ancestor = 30;              ///< level between each two GPUs
  int p2pRead = 0, p2pWrite = 0, p2pNvlink = 0;
  int initialised = 0;                            ///< init calls less shutdown calls
  std::set<std::pair<unsigned, unsigned>> asked;  ///< field and scope of values that were asked for

  FakeNvml();
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;
  ~FakeNvml();
  [[nodiscard]] SymbolLookup lookup() const;
};

/// Links of a GPU behind NVSwitches.
std::vector<FakeLink> switched(int count);

}  // namespace gdrbench::test
