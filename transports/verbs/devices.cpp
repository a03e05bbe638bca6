// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/devices.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "transports/verbs/no_device.h"

namespace gdrbench::verbs {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> namesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A software device has no `device` link; `parent` names its interface instead.
DeviceEntry describe(const Platform& platform, ibv_device* handle) {
  DeviceEntry entry{.handle = handle, .name = platform.calls.deviceName(handle)};
  const fs::path folder = platform.sys / "class/infiniband" / entry.name;
  std::error_code error;
  const fs::path path = fs::canonical(folder / "device", error);
  if (!error) {
    entry.path = path;
    entry.pciAddress = path.filename().string();
    entry.interfaces = namesIn(path / "net");
  } else if (std::string parent = firstLineOf(folder / "parent"); !parent.empty()) {
    entry.interfaces = {std::move(parent)};
  }
  return entry;
}

std::string listOf(std::span<const DeviceEntry> entries) {
  std::vector<std::string> names;
  for (const DeviceEntry& entry : entries) names.push_back(entry.text());
  return listed(names);
}

bool sameAddress(std::string_view asked, std::string_view address) {
  if (address.empty()) return false;
  // A PCI address may leave out the domain 0000.
  return asked == address || fmt::format("0000:{}", asked) == address;
}

struct Found {
  const DeviceEntry* entry = nullptr;
  std::string reason, interface;
};

Result<Found> byName(std::span<const DeviceEntry> entries, const std::string& asked) {
  for (const DeviceEntry& entry : entries) {
    if (entry.name == asked) return Found{&entry, "asked for by name", {}};
    if (sameAddress(asked, entry.pciAddress)) return Found{&entry, "asked for by PCI address", {}};
  }
  std::vector<const DeviceEntry*> owners;
  for (const DeviceEntry& entry : entries) {
    const auto& names = entry.interfaces;
    if (std::find(names.begin(), names.end(), asked) != names.end()) owners.push_back(&entry);
  }
  if (owners.size() == 1) {
    return Found{owners.front(), "the device of interface " + asked, asked};
  }
  const Result<std::int64_t> number = parseInteger(asked);
  if (owners.empty() && number && *number >= 0 &&
      static_cast<std::size_t>(*number) < entries.size()) {
    return Found{&entries[static_cast<std::size_t>(*number)], "asked for by number " + asked, {}};
  }
  std::vector<std::string_view> names;
  for (const DeviceEntry& entry : entries) names.push_back(entry.name);
  const std::string_view near = nearestName(asked, names);
  return Error{.code = ErrorCode::kNotFound,
               .tried = fmt::format("find the RDMA device '{}'", asked),
               .nativeText = owners.empty() ? "there is no such device"
                                            : "several devices have an interface of that name",
               .next = fmt::format("{}there are: {}",
                                   near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                   listOf(entries))};
}

std::string stateText(int state) {
  static constexpr const char* kNames[] = {"NOP",   "DOWN",   "INIT",
                                           "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return state >= 0 && state < 6 ? kNames[state] : std::to_string(state);
}

/// Codes of the InfiniBand specification.
double rateOf(const ibv_port_attr& attributes) {
  constexpr std::pair<int, double> kSpeeds[] = {{1, 2.5}, {2, 5},   {4, 10},  {8, 10},
                                                {16, 14}, {32, 25}, {64, 50}, {128, 100}};
  constexpr std::pair<int, int> kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  double lane = 0, lanes = 0;
  for (const auto& [code, value] : kSpeeds) lane = code == attributes.active_speed ? value : lane;
  for (const auto& [code, value] : kWidths) lanes = code == attributes.active_width ? value : lanes;
  return lane * lanes;
}

Port portOf(std::uint8_t number, const ibv_port_attr& attributes) {
  const int mtuCode = attributes.active_mtu;
  return {.number = number,
          .link = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::kEthernet
                                                                   : LinkLayer::kInfiniBand,
          .up = attributes.state == IBV_PORT_ACTIVE || attributes.state == IBV_PORT_ACTIVE_DEFER,
          .state = stateText(attributes.state),
          .activeMtu = mtuCode >= 1 && mtuCode <= 5 ? 128u << mtuCode : 0,
          .lid = attributes.lid,
          .maxMessage = attributes.max_msg_sz,
          .gigabitsPerSecond = rateOf(attributes)};
}

Result<Port> queryPort(Calls& calls, const OpenDevice& device, std::uint8_t number) {
  ibv_port_attr attributes{};
  const int code = calls.queryPort(device.context.get(), number, &attributes);
  if (code != 0) {
    return systemError(fmt::format("query port {} of {}", number, device.entry.name), code);
  }
  return portOf(number, attributes);
}

Error portDown(const OpenDevice& device, const Port& port) {
  const bool ethernet = port.link == LinkLayer::kEthernet;
  return {.code = ErrorCode::kTransport,
          .tried = fmt::format("use port {} of {}", port.number, device.entry.name),
          .nativeText = fmt::format("the port is {}", port.state),
          .next = ethernet ? "bring its interface up (ip link), look at the cable and the switch"
                           : "INIT: no subnet manager answers; DOWN: look at the cable and the "
                             "switch (ibstat)"};
}

Result<Port> choosePort(Calls& calls, const OpenDevice& device, std::uint8_t asked,
                        std::uint8_t count) {
  if (asked > count) {
    return Error{.code = ErrorCode::kNotFound,
                 .tried = fmt::format("use port {} of {}", asked, device.entry.name),
                 .nativeText = fmt::format("it has {}", count)};
  }
  std::optional<Port> first;
  for (std::uint8_t i = 1; i <= count; ++i) {
    if (asked != 0 && i != asked) continue;
    Result<Port> port = queryPort(calls, device, i);
    if (!port) return port;
    if (port->up) return port;
    if (!first) first = *std::move(port);
  }
  return portDown(device, *first);
}

/// libibverbs looks in several places, and its errno is that of the last one.
bool deviceFilesAreForbidden(const fs::path& dev) {
  const fs::path folder = dev / "infiniband";
  for (const std::string& name : namesIn(folder)) {
    if (!name.starts_with("uverbs")) continue;
    if (access((folder / name).c_str(), R_OK | W_OK) != 0 && errno == EACCES) return true;
  }
  return false;
}

Error cannotOpen(const Platform& platform, const DeviceEntry& entry, int code) {
  if (code == ENOENT && deviceFilesAreForbidden(platform.dev)) code = EACCES;
  Error error = systemError("open " + entry.text(), code == 0 ? EIO : code);
  if (code == EACCES || code == EPERM) {
    error.next =
        "this user may not open /dev/infiniband/uverbs*: look at its rights, or in a "
        "container pass the devices in";
  } else if (code == ENOENT || code == ENODEV) {
    error.next =
        "/dev/infiniband is not complete: in a container, pass the devices in; else "
        "modprobe ib_uverbs";
  }
  return error;
}

Result<OpenDevice> openEntry(const Platform& platform, Found found, std::uint8_t port) {
  Calls& calls = platform.calls;
  errno = 0;
  OpenDevice device{.entry = *found.entry,
                    .reason = std::move(found.reason),
                    .interface = std::move(found.interface),
                    .context = ContextHandle(calls.open(found.entry->handle), {&calls})};
  if (!device.context) return cannotOpen(platform, *found.entry, errno);
  ibv_device_attr attributes{};
  if (const int code = calls.queryDevice(device.context.get(), &attributes); code != 0) {
    return systemError("query " + device.entry.name, code);
  }
  device.limits = {
      .workRequests = static_cast<std::uint32_t>(std::max(attributes.max_qp_wr, 0)),
      .completions = static_cast<std::uint32_t>(std::max(attributes.max_cqe, 0)),
      .readsAsInitiator = static_cast<std::uint32_t>(std::max(attributes.max_qp_init_rd_atom, 0)),
      .readsAsTarget = static_cast<std::uint32_t>(std::max(attributes.max_qp_rd_atom, 0)),
      .firmware = attributes.fw_ver};
  Result<Port> chosen = choosePort(calls, device, port, attributes.phys_port_cnt);
  if (!chosen) return std::move(chosen).error();
  device.port = *std::move(chosen);
  return device;
}

/// The nearest to the GPU among those with a port that is up; without a GPU the first of them.
Result<OpenDevice> automatic(const Platform& platform, std::span<const DeviceEntry> entries,
                             const DeviceRequest& request) {
  std::vector<const DeviceEntry*> order;
  for (const DeviceEntry& entry : entries) order.push_back(&entry);
  std::string reason = "the first with a port that is up";
  if (!request.gpuPciAddress.empty()) {
    std::error_code error;
    const fs::path gpu =
        fs::canonical(platform.sys / "bus/pci/devices" / request.gpuPciAddress, error);
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
      return pciDistance(a->path, gpu) < pciDistance(b->path, gpu);
    });
    reason = "the nearest to the GPU " + request.gpuPciAddress;
  }
  std::optional<Error> problem;
  for (const DeviceEntry* entry : order) {
    Result<OpenDevice> device = openEntry(platform, {entry, reason, {}}, request.port);
    if (device) return device;
    if (!problem) problem = std::move(device).error();
  }
  return *std::move(problem);
}

}  // namespace

std::string DeviceEntry::text() const {
  std::vector<std::string> facts = interfaces;
  if (!pciAddress.empty()) facts.insert(facts.begin(), pciAddress);
  return facts.empty() ? name : fmt::format("{} ({})", name, fmt::join(facts, ", "));
}

std::string OpenDevice::where() const {
  return fmt::format("port {} of {}", port.number, entry.name);
}

std::string_view name(LinkLayer layer) {
  return layer == LinkLayer::kEthernet ? "Ethernet" : "InfiniBand";
}

Result<DeviceList> DeviceList::read(const Platform& platform) {
  int count = 0;
  errno = 0;
  ibv_device** raw = platform.calls.deviceList(&count);
  const int code = errno;
  DeviceList list(platform.calls, raw);
  if (raw == nullptr || count == 0) return noDevice(platform, raw == nullptr ? code : 0);
  for (int i = 0; i < count; ++i) list.entries_.push_back(describe(platform, raw[i]));
  return list;
}

DeviceList::DeviceList(DeviceList&& other) noexcept
    : calls_(other.calls_),
      list_(std::exchange(other.list_, nullptr)),
      entries_(std::move(other.entries_)) {}

DeviceList::~DeviceList() {
  if (list_ != nullptr) calls_.freeDeviceList(list_);
}

Result<OpenDevice> openDevice(const Platform& platform, const DeviceRequest& request) {
  Result<DeviceList> list = DeviceList::read(platform);
  if (!list) return std::move(list).error();
  if (request.device == "auto") return automatic(platform, list->entries(), request);
  Result<Found> found = byName(list->entries(), request.device);
  if (!found) return std::move(found).error();
  return openEntry(platform, *std::move(found), request.port);
}

int pciDistance(const fs::path& one, const fs::path& other) {
  constexpr int kApart = 1000;
  if (one.empty() || other.empty()) return kApart;
  const auto [end, _] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  // The common part must hold a host bridge ("pci0000:3a"), not only /sys/devices.
  const bool joined = std::any_of(
      one.begin(), end, [](const fs::path& part) { return part.string().starts_with("pci"); });
  const auto up = std::max(std::distance(end, one.end()), std::distance(_, other.end()));
  return static_cast<int>(up) + (joined ? 0 : kApart);
}

}  // namespace gdrbench::verbs
