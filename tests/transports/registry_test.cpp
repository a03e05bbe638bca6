// SPDX-License-Identifier: Apache-2.0
#include "transports/registry.h"

#include <doctest/doctest.h>

#include <set>

namespace gdrbench {
namespace {

Registry of(const TransportEntry& entry) {
  return Registry(std::vector<TransportEntry>{entry});
}

}  // namespace

TEST_CASE("every entry of this build is complete") {
  const Registry registry = builtinTransports();
  std::set<std::string_view> names;
  for (const TransportEntry& entry : registry.entries()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.summary.empty());
    CHECK((entry.capabilities != nullptr));
    const int ways = (entry.make != nullptr ? 1 : 0) + (entry.module.empty() ? 0 : 1) +
                     (entry.notBuilt.empty() ? 0 : 1);
    CHECK(ways == 1);
  }
  CHECK(names.contains("null"));
  CHECK(names.contains("loopback"));
  CHECK(names.contains("tcp"));
}

TEST_CASE("defaults pass every transport's own checks") {
  const Registry registry = builtinTransports();
  for (const TransportEntry& entry : registry.entries()) {
    CAPTURE(entry.name);
    for (const Option& option : entry.options) {
      CAPTURE(option.name);
      CHECK_FALSE(option.help.empty());
      if (!option.fallback.empty() && !option.list) {
        CHECK(parseOption(option, option.fallback).ok());
      }
    }
    OptionSet set = OptionSet::defaults(entry.options);
    for (const Option& option : entry.options) {
      if (option.required) set.set(option.name, {OptionValue(std::string("tcp"))});
    }
    if (entry.validate == nullptr) continue;
    const Status status = entry.validate(set);
    CHECK_MESSAGE(status.ok(), (status ? std::string() : status.error().what()));
  }
}

TEST_CASE("made transports carry the name of their entry") {
  const Registry registry = builtinTransports();
  for (const char* name : {"null", "loopback", "tcp"}) {
    Result<std::unique_ptr<Transport>> transport = registry.make(name);
    REQUIRE(transport.ok());
    CHECK((*transport)->name() == name);
    Result<std::vector<Device>> devices = (*transport)->probe();
    REQUIRE(devices.ok());
    CHECK_FALSE(devices->empty());
  }
}

TEST_CASE("an unknown transport is an error with the nearest name") {
  const Result<std::unique_ptr<Transport>> transport = builtinTransports().make("loopbck");
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == ErrorCode::kUsage);
  CHECK(transport.error().what().find("'loopback'") != std::string::npos);
}

TEST_CASE("a transport that was not built names the option that builds it") {
  const Registry registry = of({.name = "exotic", .notBuilt = "GDRBENCH_EXOTIC"});
  const Result<std::unique_ptr<Transport>> transport = registry.make("exotic");
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == ErrorCode::kNotBuilt);
  CHECK(transport.error().what().find("GDRBENCH_EXOTIC=ON") != std::string::npos);
}

TEST_CASE("a module that is not there is an error with the linker's text") {
  const Registry registry = of({.name = "exotic", .module = "gdrbench-exotic.so"});
  const Result<std::unique_ptr<Transport>> transport = registry.make("exotic");
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == ErrorCode::kNotFound);
  CHECK(transport.error().nativeText.find("modules/gdrbench-exotic.so") != std::string::npos);
}

TEST_CASE("library is loaded first and refused where it means nothing") {
  const Registry registry = of({.name = "exotic", .module = "gdrbench-exotic.so"});
  Result<std::unique_ptr<Transport>> transport = registry.make("exotic", "/nowhere/libexotic.so.1");
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == ErrorCode::kNotFound);
  CHECK(transport.error().nativeText.find("/nowhere/libexotic.so.1") != std::string::npos);

  transport = builtinTransports().make("tcp", "/nowhere/libtcp.so");
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == ErrorCode::kConfig);
}

}  // namespace gdrbench
