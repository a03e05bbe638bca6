// SPDX-License-Identifier: Apache-2.0
// submit and poll of the staged lane do not allocate. The fake driver does, so copies are done on
// the spot here.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/fakes/counted_new.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/transports/staged/staged_subject.h"

namespace gdrbench::staged {
namespace {

std::byte* viewOf(cuda::DevicePointer pointer) {
  return cuda::fake::hostView(reinterpret_cast<const void*>(pointer));
}

/// While it lives, copies are done when they are enqueued.
class ImmediateCopies {
 public:
  ImmediateCopies() : fake_(**cuda::api()) {
    cuda::Api now = fake_;
    now.copyAsync = [](cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes,
                       cuda::StreamHandle) {
      std::memcpy(viewOf(to), viewOf(from), bytes);
      return cuda::kSuccess;
    };
    now.eventRecord = [](cuda::EventHandle, cuda::StreamHandle) { return cuda::kSuccess; };
    now.eventQuery = [](cuda::EventHandle) { return cuda::kSuccess; };
    now.streamSynchronize = [](cuda::StreamHandle) { return cuda::kSuccess; };
    cuda::replaceApi(now);
  }
  ~ImmediateCopies() { cuda::replaceApi(fake_); }
  ImmediateCopies(const ImmediateCopies&) = delete;
  ImmediateCopies& operator=(const ImmediateCopies&) = delete;

 private:
  cuda::Api fake_;
};

/// Both sides send `bytes` `rounds` times and wait for the other's.
void talk(conformance::Rig& rig, std::uint64_t bytes, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Message message{static_cast<Ticket>(round), 0, bytes};
    std::size_t events = 0;
    for (conformance::Side* side : {rig.initiator.get(), rig.responder.get()}) {
      const Accepted taken = side->lane().submit({&message, 1}, {&message, 1});
      if (taken.sends != 1 || taken.expects != 1) std::abort();
    }
    while (events < 4) {
      for (conformance::Side* side : {rig.initiator.get(), rig.responder.get()}) {
        Event some[4];
        const std::size_t count = side->lane().poll(some);
        for (std::size_t i = 0; i < count; ++i) {
          if (some[i].kind == Event::Kind::kFailed) std::abort();
        }
        events += count;
      }
    }
  }
}

}  // namespace

TEST_CASE("submit and poll do not allocate") {
  for (const char* over : {"loopback", "tcp"}) {
    for (const std::uint32_t window : {1u, 8u}) {
      CAPTURE(over);
      CAPTURE(window);
      auto rig = conformance::connectedRig(
          subject({{"over", over}, {"chunk", "4KiB"}, {"depth", "4"}}), {65536, 2, window});
      REQUIRE(rig);
      const ImmediateCopies immediate;
      talk(*rig, 65536, 4);
      const std::size_t before = allocations();
      talk(*rig, 8, 100);
      talk(*rig, 65536, 20);
      CHECK(allocations() == before);
    }
  }
}

}  // namespace gdrbench::staged
