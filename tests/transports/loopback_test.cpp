// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "transports/loopback/loopback_transport.h"

namespace gdrbench::loopback {

TEST_CASE("fifo sizes that are no power of two are refused with their neighbours") {
  OptionSet set = OptionSet::defaults(options());
  CHECK(validate(set).ok());
  set.set("fifo", {std::int64_t{100 * 1024}});
  const Status status = validate(set);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kConfig);
  CHECK(status.error().what().find("64KiB") != std::string::npos);
  CHECK(status.error().what().find("128KiB") != std::string::npos);
}

TEST_CASE("another host is refused") {
  OpenRequest request;
  request.options = OptionSet::defaults(options());
  request.lane.peerOnThisHost = false;
  const Result<std::unique_ptr<Endpoint>> endpoint = make()->open(request);
  REQUIRE_FALSE(endpoint.ok());
  CHECK(endpoint.error().code == ErrorCode::kUnsupported);
}

}  // namespace gdrbench::loopback
