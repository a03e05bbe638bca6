// SPDX-License-Identifier: Apache-2.0
// The machine and its devices.
#include "tests/fakes/fake_cuda.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "harness/core/option.h"
#include "tests/fakes/fake_state.h"

namespace gdrbench::cuda::fake {
namespace {

thread_local Context current = nullptr;

bool isDevice(int device) {
  return device >= 0 && device < state().machine.gpus;
}

std::string pciOf(int device) {
  const auto& given = state().machine.pci;
  const auto index = static_cast<std::size_t>(device);
  return index < given.size() ? given[index] : fmt::format("0000:{:02x}:00.0", 0x10 + device);
}

void copyText(char* to, int room, const std::string& text) {
  std::snprintf(to, static_cast<std::size_t>(room), "%s", text.c_str());
}

/// "0000:3b:00.0": domain, bus, device.
int partOfPci(int device, int part) {
  unsigned parts[3] = {};
  std::sscanf(pciOf(device).c_str(), "%x:%x:%x", &parts[0], &parts[1], &parts[2]);
  return static_cast<int>(parts[part]);
}

Code deviceAttribute(int* value, int attribute, DeviceHandle device) {
  if (!isDevice(device)) return kInvalidDevice;
  switch (attribute) {
    case kPciDomainId:
      *value = partOfPci(device, 0);
      return kSuccess;
    case kPciBusId:
      *value = partOfPci(device, 1);
      return kSuccess;
    case kPciDeviceId:
      *value = partOfPci(device, 2);
      return kSuccess;
    case kComputeMajor:
      *value = 9;
      return kSuccess;
    case kUnifiedAddressing:
    case kVmmSupported:
    case kGpuDirectRdmaSupported:
    case kGpuDirectRdmaWithVmmSupported:
      *value = 1;
      return kSuccess;
    case kGpuDirectRdmaWritesOrdering:
      *value = state().machine.orderedWrites ? 100 : 0;
      return kSuccess;
    case kGpuDirectRdmaFlushOptions:
      *value = state().machine.canFlush ? 1 : 0;
      return kSuccess;
    default:
      *value = 0;
      return kSuccess;
  }
}

Code flushWrites(int, int) {
  const Guard guard(state().mutex);
  if (!currentDevice()) return kInvalidContext;
  ++state().counters.flushes;
  return kSuccess;
}

Code deviceUuid(Uuid* uuid, DeviceHandle device) {
  if (!isDevice(device)) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(16 * (device + 1) + i);
  return kSuccess;
}

Code canAccessPeer(int* can, DeviceHandle device, DeviceHandle peer) {
  if (!isDevice(device) || !isDevice(peer)) return kInvalidDevice;
  *can = device != peer && link(device, peer).peerAccess ? 1 : 0;
  return kSuccess;
}

Code enablePeerAccess(Context peer, unsigned) {
  const Guard guard(state().mutex);
  const auto device = currentDevice();
  if (!device) return kInvalidContext;
  int can = 0;
  canAccessPeer(&can, *device, peer->device);
  if (can == 0) return kPeerUnsupported;
  return state().peers.emplace(*device, peer->device).second ? kSuccess : kPeerAccessAlreadyEnabled;
}

Code primaryRetain(Context* context, DeviceHandle device) {
  const Guard guard(state().mutex);
  if (!isDevice(device)) return kInvalidDevice;
  *context = state().contexts[static_cast<std::size_t>(device)].get();
  ++state().counters.contexts;
  return kSuccess;
}

Code primaryRelease(DeviceHandle device) {
  const Guard guard(state().mutex);
  if (!isDevice(device)) return kInvalidDevice;
  --state().counters.contexts;
  return kSuccess;
}

Api table() {
  Api api;
  bindDevices(api);
  bindMemory(api);
  bindVirtualMemory(api);
  bindWork(api);
  bindGraphs(api);
  return api;
}

// --- a machine as text ---------------------------------------------------------------------------

std::uint64_t number(std::string_view text) {
  const Option size{.name = "number", .type = OptionType::kSize};
  const auto value = parseOption(size, text);
  if (!value) throw std::invalid_argument(value.error().what());
  return static_cast<std::uint64_t>(std::get<std::int64_t>(*value));
}

int place(std::string_view text) {
  return text == "h" ? kHost : static_cast<int>(number(text));
}

/// "0-1:50": a link, and how it is to be.
void plant(Machine& machine, std::string_view fault, std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view pair = text.substr(0, colon);
  const std::string_view value = colon == text.size() ? "1" : text.substr(colon + 1);
  const std::size_t dash = pair.find('-');
  if (dash == pair.npos) throw std::invalid_argument("no link: " + std::string(text));
  Link& link = machine.links[{place(pair.substr(0, dash)), place(pair.substr(dash + 1))}];
  if (fault == "slow") {
    link.queries = static_cast<unsigned>(number(value));
  } else if (fault == "corrupt") {
    link.corruptByte = number(value);
  } else if (fault == "nopeer") {
    link.peerAccess = false;
  } else if (fault == "fail") {
    link.failure = static_cast<Code>(number(value));
  } else if (fault == "refuse") {
    link.refusal = static_cast<Code>(number(value));
  } else {
    throw std::invalid_argument("no such fault: " + std::string(fault));
  }
}

}  // namespace

State& state() {
  static auto* const all = new State;  // outlives the static objects that still hold memory of it
  return *all;
}

std::optional<int> currentDevice() {
  return current == nullptr ? std::nullopt : std::optional(current->device);
}

void bindDevices(Api& api) {
  api.init = [](unsigned) { return kSuccess; };
  api.driverVersion = [](int* version) {
    *version = state().machine.driverVersion;
    return kSuccess;
  };
  api.deviceCount = [](int* count) {
    *count = state().machine.gpus;
    return kSuccess;
  };
  api.device = [](DeviceHandle* device, int ordinal) {
    *device = ordinal;
    return isDevice(ordinal) ? kSuccess : kInvalidDevice;
  };
  api.deviceName = [](char* name, int length, DeviceHandle device) {
    copyText(name, length, "Fake GPU");
    return isDevice(device) ? kSuccess : kInvalidDevice;
  };
  api.devicePciBusId = [](char* text, int length, DeviceHandle device) {
    if (!isDevice(device)) return kInvalidDevice;
    copyText(text, length, pciOf(device));
    return kSuccess;
  };
  api.setCurrent = [](Context context) {
    current = context;
    return kSuccess;
  };
  api.deviceUuid = deviceUuid;
  api.deviceAttribute = deviceAttribute;
  api.flushWrites = flushWrites;
  api.primaryRetain = primaryRetain;
  api.primaryRelease = primaryRelease;
  api.canAccessPeer = canAccessPeer;
  api.enablePeerAccess = enablePeerAccess;
}

void reset(const Machine& machine) {
  const Guard guard(state().mutex);
  drainAll();
  state().machine = machine;
  state().contexts.clear();
  for (int i = 0; i < machine.gpus; ++i) {
    state().contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{i}));
  }
  state().used.assign(static_cast<std::size_t>(machine.gpus), 0);
  state().peers.clear();
  state().enqueued.clear();
  state().counters.copies = state().counters.stagedCopies = state().counters.queries = 0;
  current = nullptr;
}

void install(const Machine& machine) {
  reset(machine);
  replaceApi(table());
}

Link& link(int from, int to) {
  const Guard guard(state().mutex);
  return state().machine.links[{from, to}];
}

Machine machineOf(std::string_view text) {
  Machine machine;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == word.npos) throw std::invalid_argument("no value: " + std::string(word));
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "gpus") {
      machine.gpus = static_cast<int>(number(value));
    } else if (key == "memory") {
      machine.memoryBytes = number(value);
    } else {
      plant(machine, key, value);
    }
  }
  return machine;
}

Counters counters() {
  const Guard guard(state().mutex);
  Counters all = state().counters;
  for (const auto& [address, block] : state().blocks) {
    ++(block.kind == Block::Kind::kImported ? all.imports : all.allocations);
  }
  all.registrations = state().registered.size();
  return all;
}

}  // namespace gdrbench::cuda::fake
