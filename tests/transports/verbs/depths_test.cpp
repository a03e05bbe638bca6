// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/depths.h"

#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {
namespace {

const Limits kAdapter{.workRequests = 16384, .completions = 4194303};
const Limits kSoftRoce{.workRequests = 16384, .completions = 32767};

Depths planned(const GivenOptions& given, std::uint32_t window, const Limits& limits) {
  const auto depths = planDepths(with(given), window, limits, "mlx5_0");
  REQUIRE_MESSAGE(depths.ok(), depths.error().what());
  return *depths;
}

}  // namespace

TEST_CASE("depths: twice the window, and not less than what small windows need") {
  const Depths small = planned({}, 1, kAdapter);
  CHECK(small.send == 128);
  CHECK(small.receive == 512);
  CHECK(small.completions == 640);
  CHECK(planned({}, 1024, kAdapter).send == 2064);
  CHECK(planned({}, 1024, kAdapter).receive == 2064);
}

TEST_CASE("depths: what was asked for, where the device has it") {
  const Depths depths = planned({{"tx_depth", "7"}, {"rx_depth", "1"}}, 64, kAdapter);
  CHECK(depths.send == 7);
  CHECK(depths.receive == 1);
  const auto refused = planDepths(with({{"tx_depth", "16385"}}), 1, kAdapter, "mlx5_0");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(has(refused.error().what(), "tx_depth 16385"));
  CHECK(has(refused.error().what(), "16384"));
}

TEST_CASE("depths: one completion queue holds everything, within what the device has") {
  for (const auto& asked : {std::pair{"1", 16384u}, {"4", 4096u}, {"64", 8192u}}) {
    CAPTURE(asked.first);
    const Depths depths = planned({{"qps", asked.first}}, asked.second, kSoftRoce);
    CHECK(depths.completions <= kSoftRoce.completions);
    CHECK(depths.send > 0);
    CHECK(depths.receive > 0);
  }
  // What is asked for keeps its size, and the rest gives way.
  CHECK(planned({{"rx_depth", "16000"}, {"qps", "2"}}, 8192, kSoftRoce).receive == 16000);
  const auto refused = planDepths(with({{"qps", "4"}, {"tx_depth", "8192"}, {"rx_depth", "8192"}}),
                                  1, kSoftRoce, "rxe1");
  REQUIRE_FALSE(refused.ok());
  CHECK(has(refused.error().what(), "32767"));
}

}  // namespace gdrbench::verbs
