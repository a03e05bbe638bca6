// SPDX-License-Identifier: Apache-2.0
// What of the nccl transport needs neither NCCL nor a GPU.
#include <doctest/doctest.h>

#include "transports/nccl/debug_log.h"
#include "transports/nccl/options.h"
#include "transports/registry.h"

using namespace gdrbench;

namespace {

OptionSet optionsWith(std::vector<std::pair<std::string, std::string>> given) {
  OptionSet set = OptionSet::defaults(nccl::options());
  for (const auto& [name, text] : given) {
    for (const Option& option : nccl::options()) {
      if (option.name == name) set.set(name, {*parseOption(option, text)});
    }
  }
  return set;
}

}  // namespace

TEST_CASE("nccl: options decide drive, allocation and processes") {
  const Capabilities plain = nccl::capabilities(optionsWith({}));
  CHECK(plain.drive == Drive::kHost);
  CHECK_FALSE(plain.needsVmm);
  CHECK_FALSE(plain.oneProcess);
  CHECK(plain.memory == std::vector{MemoryKind::kCuda});
  const Capabilities other = nccl::capabilities(
      optionsWith({{"drive", "stream"}, {"registration", "comm"}, {"processes", "1"}}));
  CHECK(other.drive == Drive::kStream);
  CHECK(other.needsVmm);
  CHECK(other.oneProcess);
}

TEST_CASE("nccl: labels tell the variants apart") {
  CHECK(nccl::label(optionsWith({})) == "nccl");
  CHECK(nccl::label(optionsWith({{"registration", "comm"}})) == "nccl:registered");
  CHECK(nccl::label(optionsWith({{"drive", "stream"}})) == "nccl:stream");
  CHECK(nccl::label(optionsWith({{"drive", "stream"}, {"graph", "true"}})) == "nccl:graph");
  CHECK(nccl::label(optionsWith({{"processes", "1"}})) == "nccl:1-process");
}

TEST_CASE("nccl: a graph needs stream drive") {
  CHECK(nccl::validate(optionsWith({{"drive", "stream"}, {"graph", "true"}})).ok());
  const Status bad = nccl::validate(optionsWith({{"graph", "true"}}));
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().next == "write drive: stream beside graph: true");
}

TEST_CASE("nccl: channels of a debug log, by what they go through") {
  CHECK(nccl::channelsIn("node:11:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
                         "node:11:11 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
                         "node:11:11 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0\n") ==
        "2 x P2P/CUMEM");
  CHECK(nccl::channelsIn(
            "a NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
            "a NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0\n"
            "a NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0 comm 0x\n") ==
        "1 x NET/Socket/0, 1 x SHM/direct/direct");  // the last line is none of NCCL's
  CHECK(nccl::channelsIn("").empty());
  CHECK(nccl::channelsIn("Channel via").empty());
}

TEST_CASE("nccl: settings of a configuration file") {
  CHECK(nccl::settingsIn(
            "# a comment\nNCCL_DEBUG=WARN\r\n\nNCCL_IB_HCA=mlx5_0 \nPATH=/x\nNCCL_X\n") ==
        "NCCL_DEBUG=WARN, NCCL_IB_HCA=mlx5_0");
  CHECK(nccl::settingsIn("").empty());
}

TEST_CASE("nccl: without its library it says so") {
  const auto transport = builtinTransports().make("nccl");
  REQUIRE(transport.ok());
  const auto probed = (*transport)->probe();
  if (probed.ok()) {
    MESSAGE("[SKIPPED] this machine has NCCL and a GPU");
    return;
  }
  CHECK(probed.error().code == ErrorCode::kUnsupported);
}
