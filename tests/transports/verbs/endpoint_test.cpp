// SPDX-License-Identifier: Apache-2.0
#include "tests/transports/verbs/support.h"
#include "transports/verbs/verbs_endpoint.h"

namespace gdrbench::verbs {
namespace {

Error refusedBy(FakeVerbs& fake, const GivenOptions& given = {}) {
  auto endpoint = VerbsEndpoint::open(platformOf(fake), requestOf(given));
  REQUIRE_FALSE(endpoint.ok());
  CHECK_FALSE(endpoint.error().tried.empty());
  return endpoint.error();
}

std::string claimed(const Endpoint& endpoint, std::string_view key) {
  for (const Claim& claim : endpoint.claims()) {
    if (claim.key == key) return claim.value;
  }
  return "no such claim";
}

}  // namespace

TEST_CASE("endpoint: every call that fails ends in an error that names it, and nothing is left") {
  const struct {
    const char* call;
    const char* text;
  } kCalls[] = {{"deviceList", "RDMA device"},
                {"open", "open mlx5_0"},
                {"queryDevice", "query mlx5_0"},
                {"queryPort", "query port 1 of mlx5_0"},
                {"queryGidTable", "GID table"},
                {"allocatePd", "protection domain"},
                {"createCq", "completion queue of mlx5_0"},
                {"createQp", "queue pair of mlx5_0"}};
  for (const auto& each : kCalls) {
    CAPTURE(each.call);
    FakeVerbs fake;
    fake.add("mlx5_0");
    fake.failing[each.call] = EIO;
    const Error error = refusedBy(fake);
    CHECK(error.nativeCode == EIO);
    CHECK(has(error.what(), each.text));
    CHECK(fake.live == 0);
  }
}

TEST_CASE("endpoint: limits of locked memory and of the device are told") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  for (const char* call : {"createCq", "createQp"}) {
    fake.failing = {{call, ENOMEM}};
    CHECK(has(refusedBy(fake).next, "ulimit -l"));
  }
}

TEST_CASE("endpoint: messages and MTUs beyond the port's are refused before anything is made") {
  FakeVerbs fake;
  auto& spec = fake.add("mlx5_0");
  spec.ports[0].active_mtu = IBV_MTU_1024;
  CHECK(has(refusedBy(fake, {{"mtu", "4096"}}).what(), "active MTU is 1024"));
  spec.ports[0].max_msg_sz = 1024;
  const Error error = refusedBy(fake);
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(has(error.what(), "4 KiB is above its limit of 1 KiB"));
}

TEST_CASE("endpoint: the default inline size gives way, one that was asked for does not") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  fake.inlineLimit = 60;
  auto endpoint = VerbsEndpoint::open(platformOf(fake), requestOf({}));
  REQUIRE(endpoint.ok());
  CHECK(claimed(**endpoint, "inline_bytes") == "55");  // 220, 110, 55
  CHECK(has(refusedBy(fake, {{"inline", "220B"}}).what(), "220 B inline"));
}

TEST_CASE("endpoint: device memory is never inlined") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  OpenRequest request = requestOf({});
  request.memory = {MemoryKind::kCuda, "0"};
  auto endpoint = VerbsEndpoint::open(platformOf(fake), request);
  REQUIRE(endpoint.ok());
  CHECK(claimed(**endpoint, "inline_bytes") == "0");
  CHECK(std::string(std::getenv("MLX5_SCATTER_TO_CQE")) == "0");
  unsetenv("MLX5_SCATTER_TO_CQE");
}

TEST_CASE("endpoint: claims say what was chosen, and why") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  Connected both(fake, {{"qps", "3"}, {"mtu", "1024"}});
  const Endpoint& endpoint = *both.initiator.endpoint;
  CHECK(claimed(endpoint, "device") == "mlx5_0");
  CHECK(claimed(endpoint, "gid") == "1: RoCE v2, 10.0.0.1 on eth0");
  CHECK(has(claimed(endpoint, "gid_reason"), "routable"));
  CHECK(claimed(endpoint, "mtu") == "1024");
  CHECK(claimed(endpoint, "qps") == "3");
  CHECK(claimed(endpoint, "registration") == "host");
  for (const Claim& claim : endpoint.claims()) {
    CHECK_MESSAGE(!claim.key.empty(), claim.value);
    CHECK_MESSAGE(!claim.value.empty(), claim.key);
  }
}

TEST_CASE("endpoint: each side may have a device of its own") {
  FakeVerbs fake;
  fake.add("rxe1");
  fake.add("rxe2").gids[1] = FakeVerbs::gid(1, IBV_GID_TYPE_ROCE_V2, "10.0.0.2", 3);
  Connected both(fake, {{"device", "rxe1"}, {"responder_device", "rxe2"}});
  CHECK(claimed(*both.initiator.endpoint, "device") == "rxe1");
  CHECK(claimed(*both.responder.endpoint, "device") == "rxe2");
}

TEST_CASE("endpoint: InfiniBand goes by LID, and by GID when one is asked for") {
  FakeVerbs fake;
  auto& spec = fake.add("mlx5_0");
  spec.ports[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
  spec.ports[0].lid = 7;
  spec.gids = {FakeVerbs::gid(0, IBV_GID_TYPE_IB, "fe80::1")};
  CHECK(claimed(*Connected(fake).initiator.endpoint, "lid") == "7");
  CHECK(has(claimed(*Connected(fake, {{"gid_index", "0"}}).initiator.endpoint, "gid"), "fe80::1"));
}

TEST_CASE("connect: a late peer is waited for, although packets to it are dropped at first") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  Side initiator(fake, {}, Role::kInitiator), responder(fake, {}, Role::kResponder);
  Status there = Done{};
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    there = responder.connect(initiator.address);
  });
  const Status here = initiator.connect(responder.address);
  late.join();
  CHECK_MESSAGE(here.ok(), here.error().what());
  CHECK_MESSAGE(there.ok(), there.error().what());
}

TEST_CASE("connect: nobody there ends at the deadline, with what to look at") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  Side initiator(fake, {}, Role::kInitiator), responder(fake, {}, Role::kResponder);
  const Status here = initiator.connect(responder.address, std::chrono::milliseconds(30));
  REQUIRE_FALSE(here.ok());
  CHECK(has(here.error().tried, "connect port 1 of mlx5_0 with mlx5_0 (1: RoCE v2, 10.0.0.1"));
  CHECK(has(here.error().nativeText, "no acknowledgement"));
  CHECK_FALSE(here.error().next.empty());
  const Status there = responder.connect(initiator.address, std::chrono::milliseconds(30));
  REQUIRE_FALSE(there.ok());
  CHECK(there.error().code == ErrorCode::kTimeout);
}

TEST_CASE("connect: the own address need not have been asked for") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  Side initiator(fake, {}, Role::kInitiator), responder(fake, {}, Role::kResponder);
  auto fresh = VerbsEndpoint::open(platformOf(fake), requestOf({}));
  REQUIRE(fresh.ok());
  auto source = (*fresh)->registerMemory(initiator.source);
  auto target = (*fresh)->registerMemory(initiator.target);
  REQUIRE(source.ok());
  REQUIRE(target.ok());
  const auto lane =
      (*fresh)->connect(responder.address, **source, **target, std::chrono::steady_clock::now());
  CHECK_FALSE(lane.ok());
}

TEST_CASE("connect: a queue pair that cannot get ready names the step and the peer") {
  FakeVerbs fake;
  fake.add("mlx5_0");
  Side initiator(fake, {}, Role::kInitiator), responder(fake, {}, Role::kResponder);
  fake.failing["readyToReceive"] = ETIMEDOUT;
  const Status here = initiator.connect(responder.address);
  REQUIRE_FALSE(here.ok());
  CHECK(has(here.error().tried, "RTR"));
  CHECK(has(here.error().tried, "10.0.0.1"));
  CHECK(has(here.error().next, "route"));
}

}  // namespace gdrbench::verbs
