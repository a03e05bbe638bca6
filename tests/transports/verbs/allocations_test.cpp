// SPDX-License-Identifier: Apache-2.0
// The hot path takes no memory: every allocation of this program is counted.
#include "tests/fakes/counted_new.h"
#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {

TEST_CASE("the counter counts") {
  const std::size_t before = allocations();
  int* volatile taken = new int(1);  // volatile: the compiler may leave out a pair that it sees
  delete taken;
  CHECK(allocations() == before + 1);
}

TEST_CASE("lane: submit and poll allocate nothing, batches, back-pressure and failures included") {
  for (const char* op : {"write", "send", "read"}) {
    CAPTURE(op);
    FakeVerbs fake;
    fake.add("mlx5_0");
    Connected both(fake, {{"op", op}, {"qps", "2"}, {"tx_depth", "32"}, {"signal_every", "4"}});
    Lane &here = *both.initiator.lane, &there = *both.responder.lane;
    const auto data = messages(64, 256);
    const bool pulls = std::string_view(op) == "read";
    std::array<Event, 16> events;
    std::size_t seen = 0;

    const std::size_t before = allocations();
    for (int round = 0; round < 100; ++round) {
      std::span<const Message> left(data);
      if (!pulls) (void)there.submit({}, data);
      while (!left.empty()) {
        const Accepted taken = pulls ? here.submit({}, left) : here.submit(left, {});
        left = left.subspan(pulls ? taken.expects : taken.sends);
        seen += here.poll(events) + there.poll(events);
      }
      for (int i = 0; i < 20; ++i) seen += here.poll(events) + there.poll(events);
    }
    fake.dropArrivals = true;
    const Message last{1, 0, 64};
    (void)here.submit({&last, 1}, {});
    for (int i = 0; i < 10; ++i) (void)here.poll(events);
    const std::size_t after = allocations();

    CHECK(after == before);
    CHECK(seen == (pulls ? 6400 : 12800));
  }
}

}  // namespace gdrbench::verbs
