// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "harness/core/text.h"
#include "harness/core/units.h"

namespace gdrbench::cuda {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string uuidText(const Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

/// "3b:00.0" and "00000000:3B:00.0" are "0000:3b:00.0".
std::string pciText(std::string_view address) {
  std::string text = lower(address);
  if (std::count(text.begin(), text.end(), ':') == 1) return "0000:" + text;
  const std::size_t domain = text.find(':');
  return domain > 4 ? text.substr(domain - 4) : text;
}

int numaNodeOf(const std::string& pci) {
  std::ifstream file("/sys/bus/pci/devices/" + pci + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

Result<Identity> identityOf(const Api& cuda, int ordinal) {
  DeviceHandle device = 0;
  char name[128] = {};
  char pci[32] = {};
  Uuid uuid{};
  for (const Code code :
       {cuda.device(&device, ordinal), cuda.deviceName(name, sizeof name, device),
        cuda.devicePciBusId(pci, sizeof pci, device), cuda.deviceUuid(&uuid, device)}) {
    if (code != kSuccess) return error(fmt::format("identify GPU {}", ordinal), code);
  }
  const std::string address = pciText(pci);
  return Identity{ordinal, name, uuidText(uuid), address, numaNodeOf(address)};
}

std::string whatThereIs(const std::vector<Identity>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Identity& each : all) {
    names.push_back(fmt::format("cuda:{} ({}, {})", each.ordinal, each.name, each.pci));
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return fmt::format(
      "there {} {}{}", all.size() == 1 ? "is" : "are", listed(names),
      visible == nullptr ? std::string() : fmt::format("; CUDA_VISIBLE_DEVICES is '{}'", visible));
}

bool matches(const Identity& gpu, std::string_view name) {
  if (const auto index = parseInteger(name)) return *index == gpu.ordinal;
  if (name.starts_with("GPU-")) return gpu.uuid.starts_with("GPU-" + lower(name.substr(4)));
  return pciText(name) == gpu.pci;
}

}  // namespace

Device::~Device() {
  cuda_.primaryRelease(handle_);
}

Status Device::makeCurrent() const {
  if (const Code code = cuda_.setCurrent(context_); code != kSuccess) {
    return error(fmt::format("make GPU {} current", identity_.pci), code);
  }
  return Done{};
}

int Device::attribute(int which) const {
  int value = 0;
  return cuda_.deviceAttribute(&value, which, handle_) == kSuccess ? value : 0;
}

Status Device::enablePeer(const Device& peer) const {
  int can = 0;
  const std::string pair =
      fmt::format("let GPU {} use the memory of {}", identity_.pci, peer.identity_.pci);
  if (const Code code = cuda_.canAccessPeer(&can, handle_, peer.handle_); code != kSuccess) {
    return error(pair, code);
  }
  if (can == 0) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = pair,
                 .nativeText = "cuDeviceCanAccessPeer says no"};
  }
  if (Status current = makeCurrent(); !current) return current;
  const Code code = cuda_.enablePeerAccess(peer.context_, 0);
  if (code == kSuccess || code == kPeerAccessAlreadyEnabled) return Done{};
  return error(pair, code);
}

Result<std::vector<Identity>> identities() {
  auto cuda = api();
  if (!cuda) return cuda.error();
  int count = 0;
  if (const Code code = (*cuda)->deviceCount(&count); code != kSuccess) {
    return error("count the GPUs", code);
  }
  std::vector<Identity> all;
  for (int i = 0; i < count; ++i) {
    auto identity = identityOf(**cuda, i);
    if (!identity) return identity.error();
    all.push_back(*std::move(identity));
  }
  if (!all.empty()) return all;
  return Error{.code = ErrorCode::kNotFound, .tried = "find a GPU: the driver has none"};
}

Result<Identity> identify(std::string_view name) {
  if (name.starts_with("MIG-")) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = fmt::format("use {}: slices of a GPU (MIG) are not supported", name),
                 .next = "name a whole GPU"};
  }
  auto all = identities();
  if (!all) return all.error();
  std::vector<Identity> found;
  std::copy_if(all->begin(), all->end(), std::back_inserter(found),
               [&](const Identity& each) { return matches(each, name); });
  if (found.size() == 1) return found.front();
  return Error{.code = ErrorCode::kNotFound,
               .tried = found.empty() ? fmt::format("find GPU '{}'", name)
                                      : fmt::format("tell which GPU '{}' is", name),
               .nativeText = whatThereIs(*all)};
}

Result<std::shared_ptr<const Device>> openDevice(std::string_view name) {
  auto identity = identify(name);
  if (!identity) return identity.error();
  const Api& cuda = **api();
  DeviceHandle handle = 0;
  cuda.device(&handle, identity->ordinal);
  Context context = nullptr;
  if (const Code code = cuda.primaryRetain(&context, handle); code != kSuccess) {
    return error(fmt::format("open GPU {} ({})", identity->ordinal, identity->pci), code);
  }
  auto device = std::make_shared<const Device>(cuda, handle, context, *std::move(identity));
  if (Status current = device->makeCurrent(); !current) return current.error();
  return device;
}

Result<std::shared_ptr<const Device>> deviceOf(DevicePointer pointer) {
  auto cuda = api();
  if (!cuda) return cuda.error();
  int ordinal = -1;
  if (const Code code = (*cuda)->pointerGet(&ordinal, kDeviceOrdinal, pointer); code != kSuccess) {
    return error("ask whose memory an address is in", code);
  }
  return openDevice(std::to_string(ordinal));
}

Result<Stream> Stream::make(std::shared_ptr<const Device> device) {
  if (Status current = device->makeCurrent(); !current) return current.error();
  StreamHandle handle = nullptr;
  if (const Code code = device->cuda().streamCreate(&handle, kStreamNonBlocking);
      code != kSuccess) {
    return error("create a CUDA stream", code);
  }
  return Stream(std::move(device), handle);
}

Stream::~Stream() {
  if (handle_ != nullptr) device_->cuda().streamDestroy(handle_);
}

Result<Events> Events::make(std::shared_ptr<const Device> device, std::size_t count, bool timed) {
  if (Status current = device->makeCurrent(); !current) return current.error();
  Events events(std::move(device));
  events.handles_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    EventHandle handle = nullptr;
    const Code code =
        events.device_->cuda().eventCreate(&handle, timed ? kEventDefault : kEventDisableTiming);
    if (code != kSuccess) return error("create a CUDA event", code);
    events.handles_.push_back(handle);
  }
  return events;
}

Events::~Events() {
  for (EventHandle handle : handles_) device_->cuda().eventDestroy(handle);
}

}  // namespace gdrbench::cuda
