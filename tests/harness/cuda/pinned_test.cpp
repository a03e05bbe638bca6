// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/pinned.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_cuda.h"

namespace gdrbench::cuda {
namespace {

const bool kFakeInstalled = (fake::install({}), true);

std::shared_ptr<const Device> gpu() {
  auto device = openDevice("0");
  REQUIRE(device.ok());
  return *device;
}

}  // namespace

TEST_CASE("pinned memory is whole pages, touched, registered, and given back") {
  const auto device = gpu();
  const auto before = fake::counters().registrations;
  {
    auto buffer = PinnedBuffer::allocate(device, 5000, -1);
    REQUIRE(buffer.ok());
    CHECK(buffer->bytes() == 8192);
    CHECK(buffer->data()[4999] == std::byte{0});
    CHECK(fake::counters().registrations == before + 1);
    const PinnedBuffer moved = *std::move(buffer);
    CHECK(moved.data() != nullptr);
    CHECK(fake::counters().registrations == before + 1);
  }
  CHECK(fake::counters().registrations == before);
}

TEST_CASE("a node that is not there is a wish that is not met") {
  for (const int node : {0, 1000, 4096}) {
    auto buffer = PinnedBuffer::allocate(gpu(), 1, node);
    REQUIRE(buffer.ok());
    CHECK(buffer->numaNode() <= 0);
  }
}

TEST_CASE("memory that cannot be pinned is an error that names the limit") {
  Api refusing = **api();
  const Api whole = refusing;
  refusing.hostRegister = [](void*, std::size_t, unsigned) { return kOutOfMemory; };
  const auto device = gpu();
  replaceApi(refusing);
  const auto buffer = PinnedBuffer::allocate(device, 1 << 20, -1);
  replaceApi(whole);
  REQUIRE_FALSE(buffer.ok());
  CHECK(buffer.error().code == ErrorCode::kNoMemory);
  CHECK(buffer.error().what().find("ulimit -l") != std::string::npos);
}

}  // namespace gdrbench::cuda
