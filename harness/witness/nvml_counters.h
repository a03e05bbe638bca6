// SPDX-License-Identifier: Apache-2.0
// NVML kept open for byte counters of GPUs. Private to harness/witness.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.h"
#include "harness/environment/nvml_api.h"

namespace gdrbench::witness {

class NvmlCounters {
 public:
  static Result<std::shared_ptr<NvmlCounters>> open(SymbolLookup lookup);
  explicit NvmlCounters(SymbolLookup lookup) : lookup_(std::move(lookup)), api_(lookup_) {}
  NvmlCounters(const NvmlCounters&) = delete;
  NvmlCounters& operator=(const NvmlCounters&) = delete;
  ~NvmlCounters();

  [[nodiscard]] Known<nvml::Device> device(const std::string& pci) const;

  /// All scopes of one field in one call: each its value, or why it has none.
  [[nodiscard]] std::vector<Known<std::uint64_t>> read(nvml::Device device, unsigned field,
                                                       const std::vector<unsigned>& scopes) const;
  /// The driver says that the two reach each other's memory over NVLink.
  [[nodiscard]] Known<bool> nvlinkBetween(nvml::Device a, nvml::Device b) const;

 private:
  SymbolLookup lookup_;
  nvml::Api api_;
  bool initialised_ = false;
};

}  // namespace gdrbench::witness
