// SPDX-License-Identifier: Apache-2.0
#include "harness/core/digest.h"

#include <doctest/doctest.h>

using gdrbench::fnv1a;

TEST_CASE("fnv1a-64 gives the published values") {
  CHECK(fnv1a("") == "cbf29ce484222325");
  CHECK(fnv1a("a") == "af63dc4c8601ec8c");
  CHECK(fnv1a("foobar") == "85944171f73967e8");
}
