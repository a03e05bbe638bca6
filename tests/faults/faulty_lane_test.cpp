// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "tests/faults/faulty_transport.h"

namespace gdrbench::faulty {
namespace {

constexpr SlotLayout kLayout{.stride = 64, .count = 8};

/// Reports what it was given at the next poll; bytes "arrive" as the number of the slot.
class FakeLane final : public Lane {
 public:
  explicit FakeLane(std::vector<std::byte>& target) : target_(target) {}

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override {
    for (const Send& send : sends) events_.push_back({Event::Kind::kSent, send.ticket});
    for (const Expect& expect : expects) {
      std::memset(target_.data() + kLayout.offsetOf(expect.slot), static_cast<int>(expect.slot),
                  expect.bytes);
      events_.push_back({Event::Kind::kArrived, expect.ticket});
    }
    return {sends.size(), expects.size()};
  }
  std::size_t poll(std::span<Event> events) noexcept override {
    std::size_t count = 0;
    for (; count < events.size() && !events_.empty(); events_.pop_front()) {
      events[count++] = events_.front();
    }
    return count;
  }
  [[nodiscard]] Error errorDetail() const override { return {}; }

 private:
  std::vector<std::byte>& target_;
  std::deque<Event> events_;
};

struct Fixture {
  explicit Fixture(const Faults& faults)
      : lane(std::make_unique<FakeLane>(target), faults, kLayout, target.data()) {}

  /// Expects in slots 0, 1, ... with tickets 100, 101, ...; answers the tickets of what arrived.
  std::vector<Ticket> arrivals(std::uint32_t count) {
    std::vector<Expect> expects;
    for (std::uint32_t i = 0; i < count; ++i) expects.push_back({100 + i, i, 16});
    lane.submit({}, expects);
    return polled();
  }
  std::vector<Ticket> polled() {
    std::vector<Ticket> tickets;
    Event events[3];
    for (int i = 0; i < 20; ++i) {
      const std::size_t got = lane.poll(events);
      for (std::size_t k = 0; k < got; ++k) {
        if (events[k].kind == Event::Kind::kFailed) {
          failed = true;
          return tickets;
        }
        tickets.push_back(events[k].ticket);
      }
    }
    return tickets;
  }

  [[nodiscard]] int byteAt(std::uint32_t slot, std::uint64_t offset) const {
    return static_cast<int>(target[kLayout.offsetOf(slot) + offset]);
  }

  std::vector<std::byte> target = std::vector<std::byte>(kLayout.totalBytes());
  FaultyLane lane;
  bool failed = false;
};

using Tickets = std::vector<Ticket>;

}  // namespace

TEST_CASE("without faults everything passes as it is") {
  Fixture fixture({});
  CHECK(fixture.arrivals(4) == Tickets{100, 101, 102, 103});
  CHECK(fixture.byteAt(3, 15) == 3);
}

TEST_CASE("drop swallows one arrival") {
  Fixture fixture({.drop = 1});
  CHECK(fixture.arrivals(3) == Tickets{100, 102});
}

TEST_CASE("duplicate reports one arrival twice") {
  Fixture fixture({.duplicate = 1});
  CHECK(fixture.arrivals(3) == Tickets{100, 101, 101, 102});
}

TEST_CASE("reorder swaps neighbours and never waits for what is not expected") {
  Fixture fixture({.reorder = true});
  CHECK(fixture.arrivals(5) == Tickets{101, 100, 103, 102, 104});
  CHECK(fixture.arrivals(1) == Tickets{100});
}

TEST_CASE("flip inverts one byte of one arrival") {
  Fixture fixture({.flipMessage = 2, .flipByte = 5});
  fixture.arrivals(4);
  CHECK(fixture.byteAt(2, 5) == (2 ^ 0xff));
  CHECK(fixture.byteAt(2, 4) == 2);
  CHECK(fixture.byteAt(1, 5) == 1);
}

TEST_CASE("a flip beyond the message hits its last byte") {
  Fixture fixture({.flipMessage = 0, .flipByte = 1000});
  fixture.arrivals(1);
  CHECK(fixture.byteAt(0, 15) == 0xff);
  CHECK(fixture.byteAt(0, 16) == 0);
}

TEST_CASE("swap exchanges the bytes of neighbours") {
  Fixture fixture({.swap = 1});
  CHECK(fixture.arrivals(4).size() == 4);
  CHECK(fixture.byteAt(1, 0) == 2);
  CHECK(fixture.byteAt(2, 0) == 1);
  CHECK(fixture.byteAt(3, 0) == 3);
}

TEST_CASE("stall stops everything after a message") {
  Fixture fixture({.stallAfter = 1});
  const Send sends[] = {{1, 0, 8}, {2, 1, 8}};
  CHECK(fixture.lane.submit(sends, {}).sends == 2);
  CHECK(fixture.lane.submit(sends, {}).sends == 0);
  CHECK(fixture.polled().empty());
}

TEST_CASE("fail breaks the lane at one call") {
  Fixture fixture({.failCall = 2});
  const Send send{1, 0, 8};
  CHECK(fixture.lane.submit({&send, 1}, {}).sends == 1);
  Event event;
  CHECK(fixture.lane.poll({&event, 1}) == 1);
  CHECK(fixture.lane.submit({&send, 1}, {}).sends == 0);
  CHECK(fixture.polled().empty());
  CHECK(fixture.failed);
  CHECK(fixture.lane.errorDetail().code == ErrorCode::kTransport);
  CHECK(fixture.lane.errorDetail().nativeText == "a failure that was asked for");
}

TEST_CASE("short submit takes one message a call") {
  Fixture fixture({.shortSubmit = true});
  const Message messages[] = {{1, 0, 8}, {2, 1, 8}};
  const Accepted both = fixture.lane.submit(messages, messages);
  CHECK(both.sends == 1);
  CHECK(both.expects == 0);
  CHECK(fixture.lane.submit({}, messages).expects == 1);
}

TEST_CASE("delay holds only the first arrivals when told so") {
  Fixture fixture({.delayNs = 3'600'000'000'000, .delayFirst = 1});
  // The others wait behind it: arrivals keep their order.
  CHECK(fixture.arrivals(3).empty());
  Fixture later({.delayNs = 3'600'000'000'000, .delayFirst = 0});
  CHECK(later.arrivals(3).size() == 3);
}

TEST_CASE("crash ends the process by the signal that was asked for") {
  const pid_t child = fork();
  if (child == 0) {
    Fixture fixture({.crashAfter = 1, .crashSignal = SIGKILL});
    fixture.arrivals(1);
    fixture.arrivals(1);
    _exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("sync messages are neither counted nor touched") {
  Fixture fixture({.drop = 0, .flipMessage = 0});
  const Expect sync{7, kLayout.syncSlot(), 8};
  fixture.lane.submit({}, {&sync, 1});
  CHECK(fixture.polled() == Tickets{7});
  CHECK(fixture.byteAt(kLayout.syncSlot(), 0) == static_cast<int>(kLayout.syncSlot()));
  CHECK(fixture.arrivals(2) == Tickets{101});
}

TEST_CASE("options name the side that does it wrong") {
  OptionSet set = OptionSet::defaults(options());
  set.set("drop", {std::int64_t{3}});
  set.set("side", {std::string("responder")});
  CHECK(faultsOf(set, Role::kResponder).drop == 3);
  CHECK(faultsOf(set, Role::kInitiator).drop == -1);
}

TEST_CASE("validate refuses a transport that there is not") {
  OptionSet set = OptionSet::defaults(options());
  CHECK(validate(set).ok());
  set.set("over", {std::string("tpc")});
  const Status status = validate(set);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().what().find("tcp") != std::string::npos);
}

}  // namespace gdrbench::faulty
