// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <rdma/fabric.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

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

/// A library that was built with CUDA has variables for it, whether or not there is a GPU.
bool builtWithCuda() {
  fi_param* all = nullptr;
  int count = 0;
  if (fi_getparams(&all, &count) != 0) return false;
  const bool found = std::any_of(all, all + count, [](const fi_param& each) {
    return std::string_view(each.name).starts_with("FI_HMEM_CUDA_");
  });
  fi_freeparams(all);
  return found;
}

LibraryInfo loadedLibrary() {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(&fi_version), &info) != 0;
  // The providers, and with them all variables, come with the first question.
  fi_info* none = nullptr;
  if (fi_getinfo(FI_VERSION(1, 5), nullptr, nullptr, 0, nullptr, &none) == 0) fi_freeinfo(none);
  return {.name = "libfabric",
          .version = versionText(fi_version()),
          .headers = versionText(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)),
          .path = known && info.dli_fname != nullptr ? info.dli_fname : "",
          .cuda = builtWithCuda()};
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

  [[nodiscard]] Result<std::optional<LibraryInfo>> vendorLibrary() override {
    const KeepSignalHandlers keep;
    return std::optional(loadedLibrary());
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
