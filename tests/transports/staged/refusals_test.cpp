// SPDX-License-Identifier: Apache-2.0
// What the staged path does not do, and how it says so.
#include <doctest/doctest.h>

#include "tests/fakes/fake_cuda.h"
#include "tests/transports/staged/staged_subject.h"
#include "transports/loopback/loopback_transport.h"
#include "transports/null/null_transport.h"
#include "transports/staged/staged_transport.h"

namespace gdrbench::staged {
namespace {

using conformance::freshPrefix;
using conformance::Side;

OpenRequest request(const MemoryName& memory, const MemoryName& peerMemory) {
  return {.options = OptionSet::defaults(loopback::options()),
          .lane = {.layout = {.stride = 4096, .count = 2}, .messageBytes = 4096},
          .memory = memory,
          .peerMemory = peerMemory,
          .namePrefix = freshPrefix()};
}

Error errorOf(const OpenRequest& asked, std::unique_ptr<Transport> inner = loopback::make()) {
  const auto transport = makeStaged(std::move(inner), OptionSet::defaults(options()));
  const auto endpoint = transport->open(asked);
  REQUIRE_FALSE(endpoint.ok());
  return endpoint.error();
}

const MemoryName kGpu{MemoryKind::kCuda, "0"};

}  // namespace

TEST_CASE("host memory on either side is unsupported, and never staged in place of a GPU's") {
  for (const auto& [mine, peers] : {std::pair(MemoryName{}, kGpu), std::pair(kGpu, MemoryName{}),
                                    std::pair(kGpu, MemoryName{MemoryKind::kPinned, {}})}) {
    const Error error = errorOf(request(mine, peers));
    CHECK(error.code == ErrorCode::kUnsupported);
    CHECK(error.tried.find("there is no GPU") != std::string::npos);
  }
}

TEST_CASE("a GPU that is not there is named") {
  const Error error = errorOf(request({MemoryKind::kCuda, "7"}, kGpu));
  CHECK(error.code == ErrorCode::kNotFound);
  CHECK(error.what().find("'7'") != std::string::npos);
}

TEST_CASE("a transport whose sender moves nothing cannot be staged") {
  OpenRequest asked = request(kGpu, kGpu);
  asked.options = {};
  const Error error = errorOf(asked, null::make());
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.tried.find("null") != std::string::npos);
}

TEST_CASE("the capabilities are those of a push from GPU to GPU, whatever is underneath") {
  const Capabilities can = capabilities({.memory = {MemoryKind::kHost}, .operation = "send"});
  CHECK(can.memory == std::vector{MemoryKind::kCuda});
  CHECK(can.flow == DataFlow::kPush);
  CHECK(can.drive == Drive::kHost);
  CHECK(can.operation == "staged send");
}

TEST_CASE("two sides that cut differently do not connect") {
  const std::string prefix = freshPrefix();
  auto responder =
      Side::open(subject({{"chunk", "4KiB"}}), {65536, 2, 2}, Role::kResponder, prefix);
  auto initiator =
      Side::open(subject({{"chunk", "8KiB"}}), {65536, 2, 2}, Role::kInitiator, prefix);
  REQUIRE(responder);
  REQUIRE(initiator);
  const Status status = initiator->connect(responder->address(), std::chrono::milliseconds(500));
  REQUIRE_FALSE(status.ok());
  INFO(status.error().what());
  CHECK(status.error().code == ErrorCode::kMismatch);
  CHECK(status.error().nativeText.find("4 KiB") != std::string::npos);
  CHECK(status.error().nativeText.find("8 KiB") != std::string::npos);
}

TEST_CASE("an address of something else is not read") {
  auto side = Side::open(subject({}), {}, Role::kInitiator, freshPrefix());
  REQUIRE(side);
  Bytes address = side->address();
  for (Bytes bad : {Bytes{}, Bytes(7), Bytes(200), Bytes(address.begin(), address.begin() + 32)}) {
    const Status status = side->connect(bad, std::chrono::milliseconds(200));
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kProtocol);
  }
}

TEST_CASE("a port can be fixed for one lane only, and the error says what to do") {
  auto fixed = subject({{"over", "tcp"}, {"inner", "port=47391"}});
  const auto* entry = fixed.registry->find("staged");
  OptionSet set = OptionSet::defaults(entry->options);
  set.set("over", {std::string("tcp")});
  set.set("inner", {std::string("port=47391")});
  OpenRequest asked = request(kGpu, kGpu);
  asked.options = set;
  asked.role = Role::kResponder;
  const auto transport = fixed.registry->make("staged");
  REQUIRE(transport.ok());
  const auto endpoint = (*transport)->open(asked);
  REQUIRE_FALSE(endpoint.ok());
  INFO(endpoint.error().what());
  CHECK(endpoint.error().what().find("47391") != std::string::npos);
  CHECK(endpoint.error().what().find("credits") != std::string::npos);
}

TEST_CASE("the stages are claimed") {
  auto rig = conformance::connectedRig(subject({{"chunk", "8KiB"}, {"depth", "5"}}), {65536, 2, 1});
  REQUIRE(rig);
  std::map<std::string, std::string> claims;
  for (const Claim& claim : rig->initiator->endpoint().claims()) claims[claim.key] = claim.value;
  CHECK(claims["staging"].find("5 slots of 8 KiB") != std::string::npos);
  CHECK(claims["staging_low_latency"] == "up to 64 KiB");
  CHECK_FALSE(claims["staging_node"].empty());
  CHECK_FALSE(claims["medium"].empty());
}

}  // namespace gdrbench::staged
