// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/nvml_counters.h"

#include <fmt/format.h>

namespace gdrbench::witness {
namespace {

Known<std::uint64_t> valueOf(const nvml::FieldValue& field) {
  using Count = Known<std::uint64_t>;
  switch (field.type) {
    case nvml::kTypeUnsigned32:
      return std::uint64_t{field.value.unsigned32};
    case nvml::kTypeUnsignedLong:
      return std::uint64_t{field.value.unsignedLong};
    case nvml::kTypeUnsigned64:
      return std::uint64_t{field.value.unsigned64};
    case nvml::kTypeSigned64:
      if (field.value.signed64 >= 0) return static_cast<std::uint64_t>(field.value.signed64);
      return Count::unknown(fmt::format("field {} is negative", field.field));
    default:
      return Count::unknown(fmt::format("field {} has the type {}", field.field, field.type));
  }
}

}  // namespace

Result<std::shared_ptr<NvmlCounters>> NvmlCounters::open(SymbolLookup lookup) {
  auto counters = std::make_shared<NvmlCounters>(std::move(lookup));
  const nvml::Api& api = counters->api_;
  if (const int code = api.init(); code != nvml::kOk) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = "open the GPU driver's counters",
                 .nativeCode = code,
                 .nativeText = api.why(api.init, code)};
  }
  counters->initialised_ = true;
  return counters;
}

NvmlCounters::~NvmlCounters() {
  if (initialised_) api_.shutdown();
}

Known<nvml::Device> NvmlCounters::device(const std::string& pci) const {
  nvml::Device device = nullptr;
  const int code = api_.deviceByPci(pci.c_str(), &device);
  if (code == nvml::kOk) return device;
  return Known<nvml::Device>::unknown(
      fmt::format("no GPU {}: {}", pci, api_.why(api_.deviceByPci, code)));
}

std::vector<Known<std::uint64_t>> NvmlCounters::read(nvml::Device device, unsigned field,
                                                     const std::vector<unsigned>& scopes) const {
  using Count = Known<std::uint64_t>;
  std::vector<nvml::FieldValue> asked(scopes.size());
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    asked[i].field = field;
    asked[i].scope = scopes[i];
  }
  const int code = api_.fieldValues(device, static_cast<int>(asked.size()), asked.data());
  std::vector<Count> values;
  for (const nvml::FieldValue& each : asked) {
    const int failed = code != nvml::kOk ? code : each.code;
    values.push_back(failed == nvml::kOk
                         ? valueOf(each)
                         : Count::unknown(fmt::format("field {}: {}", field,
                                                      api_.why(api_.fieldValues, failed))));
  }
  return values;
}

Known<bool> NvmlCounters::nvlinkBetween(nvml::Device a, nvml::Device b) const {
  int status = 0;
  const int code = api_.p2p(a, b, nvml::kP2pNvlink, &status);
  if (code != nvml::kOk) return Known<bool>::unknown(api_.why(api_.p2p, code));
  return status == 0;
}

}  // namespace gdrbench::witness
