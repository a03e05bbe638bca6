// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/pci_config.h"

#include "tests/harness/environment/fake_tree.h"

using namespace gdrbench;
using test::FakeConfig;

TEST_CASE("sizes in device control") {
  const PciConfig config(FakeConfig{.readRequestCode = 5, .payloadCode = 2}.bytes());
  CHECK(config.maxReadRequest() == Known<int>(4096));
  CHECK(config.maxPayload() == Known<int>(512));
  CHECK(PciConfig(FakeConfig{.readRequestCode = 7}.bytes()).maxReadRequest().why ==
        "reserved code 7");
  // 256 bytes: extensions are not readable, the rest is.
  CHECK(PciConfig(FakeConfig{.size = 256}.bytes()).maxReadRequest() == Known<int>(512));
}

TEST_CASE("configuration space that cannot be read says why") {
  const PciConfig unprivileged(FakeConfig{.acs = true, .size = 64}.bytes());
  CHECK(unprivileged.maxReadRequest().why == "unprivileged");
  CHECK(unprivileged.maxPayload().why == "unprivileged");
  CHECK(unprivileged.acsRedirects().why == "unprivileged");

  const PciConfig absent(std::filesystem::path("/nonexistent"));
  CHECK(absent.maxReadRequest().why == "configuration space cannot be read");
  CHECK(absent.acsRedirects().why == "configuration space cannot be read");

  const PciConfig lost(std::vector<std::uint8_t>(4096, 0xFF));
  CHECK(lost.maxReadRequest().why == "the device does not answer");
  CHECK(lost.acsRedirects().why == "the device does not answer");

  const PciConfig conventional(FakeConfig{.express = false, .size = 256}.bytes());
  CHECK(conventional.maxReadRequest().why == "no PCI Express capability");
  CHECK(conventional.acsRedirects().why == "no extended configuration space");
}

TEST_CASE("lists of capabilities that run in circles end") {
  std::vector<std::uint8_t> bytes = FakeConfig{.express = false}.bytes();
  bytes[0x61] = 0x60;   // to itself
  bytes[0x103] = 0x10;  // to itself
  bytes[0x102] = 0x01;
  CHECK(PciConfig(bytes).maxReadRequest().why == "no PCI Express capability");
  CHECK(PciConfig(bytes).acsRedirects() == Known<bool>(false));
}

TEST_CASE("ACS: absent, off, on, and bits that redirect nothing") {
  const auto redirects = [](bool acs, unsigned control) {
    return PciConfig(FakeConfig{.acs = acs, .acsControl = control}.bytes()).acsRedirects();
  };
  CHECK(redirects(false, 0) == Known<bool>(false));
  CHECK(redirects(true, 0) == Known<bool>(false));
  CHECK(redirects(true, 0b0000011) == Known<bool>(false));  // validation and blocking only
  CHECK(redirects(true, 0b0000100) == Known<bool>(true));
  CHECK(redirects(true, 0b0001000) == Known<bool>(true));
  CHECK(redirects(true, 0b0010000) == Known<bool>(true));
  CHECK(redirects(true, 0b1000000) == Known<bool>(false));  // direct translated: the opposite
  CHECK(redirects(true, 0b0011101) == Known<bool>(true));   // what Linux sets
}
