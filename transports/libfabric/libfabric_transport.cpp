// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "transports/libfabric/libfabric_endpoint.h"
#include "transports/libfabric/options.h"
#include "transports/libfabric/select.h"

namespace gdrbench::libfabric {
namespace {

/// Usable means opened with what this transport needs, not merely listed.
Device tryProvider(const std::string& provider) {
  Wanted wanted;
  wanted.provider = provider;
  wanted.ownName = fmt::format("gdrbench-probe-{}", getpid());
  Device device{.name = provider, .detail = {}, .problem = {}};
  for (const char* op : {"write", "send"}) {
    wanted.op = op;
    Result<Info> info = select(wanted);
    if (!info) {
      device.problem = std::move(info).error();
      continue;
    }
    const std::string domain =
        (*info)->domain_attr->name == nullptr ? "" : (*info)->domain_attr->name;
    const std::string effective = (*info)->fabric_attr->prov_name;
    auto objects = openObjects(*std::move(info));
    if (!objects) {
      device.problem = std::move(objects).error();
      continue;
    }
    device.problem.reset();
    device.detail =
        fmt::format("{}domain {}{}", effective == provider ? "" : "as " + effective + ", ", domain,
                    wanted.op == "send" ? ", op send only" : "");
    return device;
  }
  return device;
}

class LibfabricTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "libfabric"; }

  Result<std::vector<Device>> probe() override {
    const KeepSignalHandlers keep;
    std::vector<std::string> names = rdmProviders();
    for (const std::string& name : builtProviders()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    std::vector<Device> devices;
    for (const std::string& name : names) devices.push_back(tryProvider(name));
    return devices;
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return libfabric::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    return LibfabricEndpoint::open(request);
  }
};

}  // namespace
}  // namespace gdrbench::libfabric

/// What the registry looks for in the module; the caller owns it.
extern "C" gdrbench::Transport* gdrbenchMakeTransport() {
  return std::make_unique<gdrbench::libfabric::LibfabricTransport>().release();
}
