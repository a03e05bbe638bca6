// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/transports/given_options.h"
#include "transports/libfabric/options.h"
#include "transports/registry.h"

namespace gdrbench::libfabric {
namespace {

const Option& optionNamed(std::string_view name) {
  for (const Option& option : options()) {
    if (option.name == name) return option;
  }
  FAIL("no such option: " << name);
  std::abort();
}

OptionSet with(const GivenOptions& given) {
  return optionsWith(options(), given);
}

/// The transport of the module of this build; null, with the reason printed, if there is none.
std::unique_ptr<Transport> fromModule() {
  static const Registry registry = builtinTransports();
  const TransportEntry* entry = registry.find("libfabric");
  REQUIRE(entry != nullptr);
  const std::string file = std::string(GDR_BINARY_DIR "/modules/") + std::string(entry->module);
  if (entry->module.empty() || !std::filesystem::exists(file)) {
    std::cout << "[SKIPPED] this build has no libfabric module\n";
    return nullptr;
  }
  Result<std::unique_ptr<Transport>> made = registry.make("libfabric");
  // It is there, so it has to load: whatever it needs of the program would be missing in others.
  REQUIRE_MESSAGE(made.ok(), made.error().what());
  return *std::move(made);
}

Result<std::unique_ptr<Endpoint>> open(Transport& transport, const GivenOptions& given,
                                       std::uint64_t messageBytes = 4096) {
  return transport.open(
      {.role = Role::kInitiator,
       .options = with(given),
       .lane = {.layout = {.stride = 4096, .count = 4}, .messageBytes = messageBytes, .window = 4},
       .memory = {},
       .namePrefix = "gdrbench-libfabric-test-",
       .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10)});
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string claimed(const Endpoint& endpoint, std::string_view key) {
  for (const Claim& claim : endpoint.claims()) {
    if (claim.key == key) return claim.value;
  }
  return "no such claim";
}

/// Null, with the reason printed, where this libfabric lacks the provider.
std::unique_ptr<Endpoint> opened(Transport& transport, const GivenOptions& given) {
  Result<std::unique_ptr<Endpoint>> endpoint = open(transport, given);
  if (endpoint) return *std::move(endpoint);
  if (endpoint.error().code != ErrorCode::kNotFound) FAIL(endpoint.error().what());
  std::cout << "[SKIPPED] " << endpoint.error().what() << "\n";
  return nullptr;
}

}  // namespace

TEST_CASE("libfabric options: each has help, only the provider must be given") {
  std::set<std::string_view> names;
  for (const Option& option : options()) {
    CHECK_MESSAGE(!option.help.empty(), option.name);
    CHECK_MESSAGE(names.insert(option.name).second, option.name);
    CHECK_MESSAGE(option.required == (option.name == "provider"), option.name);
    if (option.required || option.fallback.empty()) continue;
    CHECK_MESSAGE(parseOption(option, option.fallback).ok(), option.name);
  }
  CHECK(with({}).text("op") == "write");
  CHECK(with({}).flag("inject"));
  CHECK(with({}).integer("tx_depth") == 0);
}

TEST_CASE("libfabric options: values that are none are refused") {
  for (const auto& bad : GivenOptions{{"op", "put"},
                                      {"progress", "eager"},
                                      {"delivery", "maybe"},
                                      {"inject", "64"},
                                      {"tx_depth", "-1"},
                                      {"rx_depth", "65537"},
                                      {"rx_depth", "12x"}}) {
    CAPTURE(bad.first);
    CHECK_FALSE(parseOption(optionNamed(bad.first), bad.second).ok());
  }
}

TEST_CASE("libfabric validate: one provider by name, layers and all") {
  for (const char* good : {"tcp", "tcp;ofi_rxm", "shm", "verbs;ofi_rxm", "efa"}) {
    CHECK_MESSAGE(validate(with({{"provider", good}})).ok(), good);
  }
  // Lists and exclusions are for FI_PROVIDER.
  for (const char* bad : {"tcp,shm", "^tcp", "tcp shm", " tcp", ""}) {
    OptionSet set = with({});
    set.set("provider", {std::string(bad)});
    const Status status = validate(set);
    REQUIRE_FALSE_MESSAGE(status.ok(), bad);
    CHECK(says(status.error().what(), bad));
    CHECK(says(status.error().next, "fi_info"));
  }
}

TEST_CASE("libfabric label: the provider, and the operation where it is not the default") {
  CHECK(label(with({{"provider", "tcp"}})) == "libfabric:tcp");
  CHECK(label(with({{"provider", "tcp;ofi_rxm"}})) == "libfabric:tcp;ofi_rxm");
  CHECK(label(with({{"provider", "shm"}, {"op", "read"}})) == "libfabric:shm/read");
  CHECK(label(with({{"provider", "shm"}, {"op", "send"}})) == "libfabric:shm/send");
}

TEST_CASE("libfabric capabilities: only a read pulls, and memory of all kinds is taken") {
  for (const char* op : {"write", "send", "read"}) {
    const Capabilities can = capabilities(with({{"provider", "tcp"}, {"op", op}}));
    CHECK(can.flow == (std::string_view(op) == "read" ? DataFlow::kPull : DataFlow::kPush));
    CHECK(can.memory == std::vector{MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kCuda});
    CHECK(can.drive == Drive::kHost);
    CHECK(says(can.operation, op));
  }
}

TEST_CASE("libfabric module: loads into any program and answers as the options do") {
  const auto transport = fromModule();
  if (!transport) return;
  CHECK(transport->name() == "libfabric");
  const OptionSet set = with({{"provider", "tcp"}, {"op", "read"}});
  CHECK(transport->capabilities(set).flow == DataFlow::kPull);
}

TEST_CASE("libfabric probe: every provider works or says why not") {
  const auto transport = fromModule();
  if (!transport) return;
  const Result<std::vector<Device>> devices = transport->probe();
  REQUIRE(devices.ok());
  REQUIRE_FALSE(devices->empty());
  std::set<std::string> names;
  for (const Device& device : *devices) {
    CHECK_MESSAGE(names.insert(device.name).second, device.name);
    if (device.problem) {
      CHECK_MESSAGE(!device.problem->what().empty(), device.name);
    } else {
      CHECK_MESSAGE(says(device.detail, "domain "), device.name);
    }
  }
}

TEST_CASE("libfabric open: an unknown provider is answered with what there is") {
  const auto transport = fromModule();
  if (!transport) return;
  const auto endpoint = open(*transport, {{"provider", "tpc"}});
  REQUIRE_FALSE(endpoint.ok());
  CHECK(endpoint.error().code == ErrorCode::kNotFound);
  CHECK(says(endpoint.error().what(), "'tpc'"));
  CHECK(says(endpoint.error().next, "there are: "));
}

TEST_CASE("libfabric open: an unknown domain is named as the wish that failed") {
  const auto transport = fromModule();
  if (!transport || !opened(*transport, {{"provider", "tcp"}})) return;
  for (const char* provider : {"tcp", "tcp;ofi_rxm"}) {
    const auto endpoint = open(*transport, {{"provider", provider}, {"domain", "eno99"}});
    if (!endpoint.ok() && says(endpoint.error().next, "there are: ")) continue;  // no such layer
    REQUIRE_FALSE_MESSAGE(endpoint.ok(), provider);
    CHECK(endpoint.error().code == ErrorCode::kNotFound);
    CHECK(says(endpoint.error().tried, "domain 'eno99'"));
    CHECK(says(endpoint.error().next, "its domains: "));
  }
}

TEST_CASE("libfabric open: what cannot be had is named, not left out") {
  const auto transport = fromModule();
  if (!transport || !opened(*transport, {{"provider", "shm"}})) return;
  const auto deep = open(*transport, {{"provider", "shm"}, {"tx_depth", "65536"}});
  if (!deep.ok()) CHECK(says(deep.error().tried, "tx_depth 65536"));
  const auto address = open(*transport, {{"provider", "tcp"}, {"address", "192.0.2.1"}});
  CHECK_FALSE(address.ok());
}

TEST_CASE("libfabric open: the domain and the provider asked for are the ones used") {
  const auto transport = fromModule();
  if (!transport) return;
  const auto endpoint = opened(*transport, {{"provider", "tcp"}, {"domain", "lo"}});
  if (!endpoint) return;
  CHECK(claimed(*endpoint, "domain") == "lo");
  // Some versions layer ofi_rxm over tcp; then the result says so.
  const std::string provider = claimed(*endpoint, "provider");
  const bool layered = provider != "tcp";
  CHECK(provider.starts_with("tcp"));
  CHECK(claimed(*endpoint, "provider_requested") == (layered ? "tcp" : "no such claim"));
}

TEST_CASE("libfabric open: a named delivery or inject: false leaves nothing to inject") {
  const auto transport = fromModule();
  if (!transport) return;
  const auto plain = opened(*transport, {{"provider", "shm"}});
  if (!plain) return;
  CHECK(claimed(*plain, "inject_bytes") != "0");
  const auto off = opened(*transport, {{"provider", "shm"}, {"inject", "false"}});
  if (off) CHECK(claimed(*off, "inject_bytes") == "0");
  const auto delivered = open(*transport, {{"provider", "shm"}, {"delivery", "delivery"}});
  if (!delivered.ok()) return;  // refused in words is fine too
  CHECK(claimed(**delivered, "inject_bytes") == "0");
  CHECK(says(claimed(**delivered, "op_flags"), "FI_DELIVERY_COMPLETE"));
}

TEST_CASE("libfabric memory: without a GPU, GPU memory is refused before it is registered") {
  const auto transport = fromModule();
  if (!transport) return;
  const auto endpoint = opened(*transport, {{"provider", "shm"}});
  if (!endpoint) return;
  std::byte bytes[64];
  const Buffer buffer(bytes, sizeof bytes, {MemoryKind::kCuda, "0"}, -1, {});
  const auto region = endpoint->registerMemory(buffer);
  REQUIRE_FALSE(region.ok());
  CHECK(region.error().code == ErrorCode::kUnsupported);
  CHECK(says(region.error().tried, "use a GPU"));
}

}  // namespace gdrbench::libfabric
