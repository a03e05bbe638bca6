// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <filesystem>

#include "harness/cuda/allocation.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/gid.h"
#include "transports/verbs/options.h"
#include "transports/verbs/platform.h"
#include "transports/verbs/verbs_endpoint.h"

namespace gdrbench::verbs {
namespace {

/// The one place where GPU memory comes in.
Result<DmaBufRange> exportGpuMemory(std::byte* begin, std::uint64_t bytes, Mapping mapping) {
  const cuda::DevicePointer address = cuda::pointer(begin);
  auto device = cuda::deviceOf(address);
  if (!device) return std::move(device).error();
  auto exported = cuda::DmaBuf::exportFrom(**device, address, bytes, mapping == Mapping::kPcie);
  if (!exported) return std::move(exported).error();
  return DmaBufRange{.fd = exported->release(), .offset = 0, .length = bytes};
}

std::string kindOfAddress(const std::byte* begin) {
  constexpr int kIsManaged = 8;  // CU_POINTER_ATTRIBUTE_IS_MANAGED
  const auto cuda = cuda::api();
  const cuda::DevicePointer address = cuda::pointer(begin);
  unsigned type = 0, managed = 0;
  if (!cuda || (*cuda)->pointerGet(&type, cuda::kMemoryType, address) != cuda::kSuccess) return {};
  if ((*cuda)->pointerGet(&managed, kIsManaged, address) == cuda::kSuccess && managed != 0) {
    return "managed";
  }
  return type == 2 ? "device" : "host";
}

Platform thisMachine() {
  return {.calls = libraryCalls(), .exportDmaBuf = exportGpuMemory, .kindOfAddress = kindOfAddress};
}

std::string describe(const OpenDevice& device) {
  return fmt::format("port {}, {}, {}, {:g} Gb/s, MTU {}", device.port.number,
                     name(device.port.link), device.port.state, device.port.gigabitsPerSecond,
                     device.port.activeMtu);
}

/// With the address that would be used.
Device tryDevice(const Platform& platform, const DeviceEntry& entry) {
  Device device{.name = entry.text(), .detail = {}, .problem = {}};
  Result<OpenDevice> opened = openDevice(platform, {.device = entry.name});
  if (!opened) {
    device.problem = std::move(opened).error();
    return device;
  }
  device.detail = describe(*opened);
  if (opened->port.link != LinkLayer::kEthernet) return device;
  const auto table = readGidTable(platform.calls, opened->context.get(), opened->port.number);
  if (!table) return device;
  Result<GidChoice> gid = chooseGid(*table, "auto", "", opened->where());
  if (gid) {
    device.detail += ", GID " + gid->gid.text();
  } else {
    device.problem = std::move(gid).error();
  }
  return device;
}

class VerbsTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "verbs"; }

  Result<std::vector<Device>> probe() override {
    const Platform platform = thisMachine();
    Result<DeviceList> list = DeviceList::read(platform);
    if (!list) return std::move(list).error();
    std::vector<Device> devices;
    for (const DeviceEntry& entry : list->entries()) devices.push_back(tryDevice(platform, entry));
    return devices;
  }

  /// It tells no version; its file's name does.
  [[nodiscard]] Result<std::optional<LibraryInfo>> vendorLibrary() override {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(&ibv_get_device_list), &info) != 0;
    if (!known || info.dli_fname == nullptr) return std::optional<LibraryInfo>();
    std::error_code failed;
    const auto file = std::filesystem::canonical(info.dli_fname, failed);
    const std::string path = failed ? std::string(info.dli_fname) : file.string();
    const std::string base = std::filesystem::path(path).filename();
    const std::size_t version = base.find(".so.");
    return std::optional(LibraryInfo{
        .name = "libibverbs",
        .version = version == base.npos ? "of unknown version" : base.substr(version + 4),
        .headers = {},
        .path = path,
        .cuda = {}});
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return verbs::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    return VerbsEndpoint::open(thisMachine(), request);
  }
};

}  // namespace
}  // namespace gdrbench::verbs

/// What the registry looks for in the module; the caller owns it.
extern "C" gdrbench::Transport* gdrbenchMakeTransport() {
  return std::make_unique<gdrbench::verbs::VerbsTransport>().release();
}
