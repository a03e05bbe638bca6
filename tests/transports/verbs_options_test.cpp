// SPDX-License-Identifier: Apache-2.0
// What is known of the verbs transport without its library, and that its module loads.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/transports/given_options.h"
#include "transports/registry.h"
#include "transports/verbs/options.h"

namespace gdrbench::verbs {
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

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("verbs options: each has help and a default that it takes itself") {
  std::set<std::string_view> names;
  for (const Option& option : options()) {
    CHECK_MESSAGE(!option.help.empty(), option.name);
    CHECK_MESSAGE(names.insert(option.name).second, option.name);
    CHECK_FALSE_MESSAGE(option.required, option.name);
    CHECK_MESSAGE(parseOption(option, option.fallback).ok(), option.name);
  }
  CHECK(validate(with({})).ok());
}

TEST_CASE("verbs options: values that are none are refused") {
  const std::pair<const char*, const char*> kWrong[] = {
      {"op", "put"},         {"mtu", "1500"},      {"port", "-1"},          {"qps", "0"},
      {"qps", "65"},         {"tx_depth", "1k"},   {"signal_every", "0"},   {"inline", "-1"},
      {"rnr_retry", "8"},    {"retry_count", "8"}, {"ack_timeout", "32"},   {"doorbell", "two"},
      {"registration", "x"}, {"mapping", "bar1"},  {"traffic_class", "256"}};
  for (const auto& bad : kWrong) {
    CAPTURE(bad.first);
    CHECK_FALSE(parseOption(optionNamed(bad.first), bad.second).ok());
  }
}

TEST_CASE("verbs validate: gid_index is auto or an entry, and a mapping is one of a dma-buf") {
  for (const char* good : {"auto", "0", "3", "255"}) {
    CHECK_MESSAGE(validate(with({{"gid_index", good}})).ok(), good);
  }
  for (const char* bad : {"", "Auto", "-1", "256", "1.5", "3x", "10.0.0.1"}) {
    OptionSet set = with({});
    set.set("gid_index", {std::string(bad)});
    const Status status = validate(set);
    REQUIRE_FALSE_MESSAGE(status.ok(), bad);
    CHECK(has(status.error().next, "auto"));
  }
  CHECK_FALSE(validate(with({{"mapping", "pcie"}})).ok());
  CHECK(validate(with({{"mapping", "pcie"}, {"registration", "dmabuf"}})).ok());
  CHECK_FALSE(validate(with({{"device", ""}})).ok());
}

TEST_CASE("verbs label and capabilities: the operation, only a read pulls") {
  CHECK(label(with({})) == "verbs");
  CHECK(label(with({{"op", "send"}})) == "verbs/send");
  CHECK(label(with({{"op", "read"}})) == "verbs/read");
  for (const char* op : {"write", "send", "read"}) {
    const Capabilities can = capabilities(with({{"op", op}}));
    CHECK(can.flow == (std::string_view(op) == "read" ? DataFlow::kPull : DataFlow::kPush));
    CHECK(can.memory == std::vector{MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kCuda});
    CHECK(has(can.operation, op));
  }
}

TEST_CASE("verbs module: loads into any program, and every device works or says why not") {
  static const Registry registry = builtinTransports();
  const TransportEntry* entry = registry.find("verbs");
  REQUIRE(entry != nullptr);
  const std::string file = std::string(GDR_BINARY_DIR "/modules/") + std::string(entry->module);
  if (entry->module.empty() || !std::filesystem::exists(file)) {
    std::cout << "[SKIPPED] this build has no verbs module\n";
    return;
  }
  Result<std::unique_ptr<Transport>> made = registry.make("verbs");
  // It is there, so it has to load: whatever it needs of the program would be missing in others.
  REQUIRE_MESSAGE(made.ok(), made.error().what());
  CHECK((*made)->name() == "verbs");
  const Result<std::vector<Device>> devices = (*made)->probe();
  if (!devices.ok()) {
    CHECK(devices.error().code == ErrorCode::kUnsupported);
    CHECK(has(devices.error().what(), "no RDMA device"));
    CHECK_FALSE(devices.error().next.empty());
    return;
  }
  for (const Device& device : *devices) CHECK_FALSE(device.name.empty());
}

}  // namespace gdrbench::verbs
