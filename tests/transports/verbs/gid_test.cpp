// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/gid.h"

#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {
namespace {

constexpr auto kV1 = IBV_GID_TYPE_ROCE_V1;
constexpr auto kV2 = IBV_GID_TYPE_ROCE_V2;

std::vector<Gid> tableOf(std::vector<ibv_gid_entry> entries) {
  FakeVerbs fake;
  fake.add("mlx5_0").gids = std::move(entries);
  int count = 0;
  ibv_device** list = fake.deviceList(&count);
  ContextHandle context(fake.open(list[0]), {&fake});
  fake.freeDeviceList(list);
  auto table = readGidTable(fake, context.get(), 1);
  REQUIRE(table.ok());
  return *table;
}

GidChoice chosen(const std::vector<Gid>& table, std::string_view wanted = "auto",
                 std::string_view interface = "") {
  auto choice = chooseGid(table, wanted, interface, "port 1 of mlx5_0");
  REQUIRE_MESSAGE(choice.ok(), choice.error().what());
  return *choice;
}

/// As a ConnectX shows an interface with an IPv4 address.
std::vector<ibv_gid_entry> typicalTable() {
  return {FakeVerbs::gid(0, kV1, "fe80::ee0d:9aff:fe5a:1", 2),
          FakeVerbs::gid(1, kV2, "fe80::ee0d:9aff:fe5a:1", 2),
          FakeVerbs::gid(2, kV1, "10.1.2.3", 2), FakeVerbs::gid(3, kV2, "10.1.2.3", 2)};
}

}  // namespace

TEST_CASE("gid: RoCE v2 with an IPv4 address, and why") {
  const GidChoice choice = chosen(tableOf(typicalTable()));
  CHECK(choice.gid.index == 3);
  CHECK(choice.gid.text() == "3: RoCE v2, 10.1.2.3 on eth0");
  CHECK(has(choice.reason, "routable"));
  CHECK(has(choice.reason, "before 0: RoCE v1, fe80::"));
}

TEST_CASE("gid: soft-RoCE's table") {
  const GidChoice choice = chosen(
      tableOf({FakeVerbs::gid(0, kV2, "fe80::1", 2), FakeVerbs::gid(1, kV2, "10.78.0.1", 2)}));
  CHECK(choice.gid.index == 1);
}

TEST_CASE("gid: a routable IPv6 address before a link-local one, IPv4 before both") {
  auto entries = typicalTable();
  entries.resize(2);
  CHECK(chosen(tableOf(entries)).gid.index == 1);
  CHECK(has(chosen(tableOf(entries)).reason, "only link-local"));
  entries.push_back(FakeVerbs::gid(5, kV2, "2001:db8::7", 2));
  CHECK(chosen(tableOf(entries)).gid.index == 5);
  entries.push_back(FakeVerbs::gid(6, kV2, "192.168.0.9", 2));
  CHECK(chosen(tableOf(entries)).gid.index == 6);
  // 169.254/16 is link-local as well.
  CHECK(chosen(tableOf({FakeVerbs::gid(0, kV2, "169.254.1.1", 2),
                        FakeVerbs::gid(1, kV2, "fd00::1", 2)}))
            .gid.index == 1);
}

TEST_CASE("gid: RoCE v1 only where there is no v2, and the reason says so") {
  const GidChoice choice = chosen(
      tableOf({FakeVerbs::gid(0, kV1, "fe80::1", 2), FakeVerbs::gid(2, kV1, "10.1.2.3", 2)}));
  CHECK(choice.gid.index == 2);
  CHECK(has(choice.reason, "no RoCE v2"));
}

TEST_CASE("gid: of the interface that was named, as a VLAN has entries of its own") {
  auto entries = typicalTable();
  entries.push_back(FakeVerbs::gid(4, kV1, "10.9.0.3", 4));
  entries.push_back(FakeVerbs::gid(5, kV2, "10.9.0.3", 4));
  CHECK(chosen(tableOf(entries)).gid.index == 3);
  CHECK(chosen(tableOf(entries), "auto", "eth0.100").gid.index == 5);
  const auto none = chooseGid(tableOf(entries), "auto", "eth7", "port 1 of mlx5_0");
  REQUIRE_FALSE(none.ok());
  CHECK(has(none.error().what(), "eth7"));
  CHECK(has(none.error().what(), "5: RoCE v2, 10.9.0.3 on eth0.100"));
}

TEST_CASE("gid: a number is taken as it is, and one that is not there lists the table") {
  CHECK(chosen(tableOf(typicalTable()), "0").gid.linkLocal());
  CHECK(chosen(tableOf(typicalTable()), "0").reason == "asked for");
  const auto none = chooseGid(tableOf(typicalTable()), "99", "", "port 1 of mlx5_0");
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kNotFound);
  CHECK(has(none.error().what(), "gid_index 99 of port 1 of mlx5_0"));
  CHECK(has(none.error().next, "3: RoCE v2, 10.1.2.3 on eth0"));
}

TEST_CASE("gid: an empty table is an error with a remedy") {
  const auto none = chooseGid({}, "auto", "", "port 1 of mlx5_0");
  REQUIRE_FALSE(none.ok());
  CHECK(has(none.error().what(), "no entry at all"));
  CHECK(has(none.error().next, "ip"));
}

TEST_CASE("gid: entries of other ports are not this port's") {
  auto entries = typicalTable();
  entries[3].port_num = 2;
  CHECK(chosen(tableOf(entries)).gid.index == 1);
}

}  // namespace gdrbench::verbs
