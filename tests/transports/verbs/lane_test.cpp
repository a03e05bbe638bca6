// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/transports/verbs/support.h"
#include "transports/verbs/verbs_lane.h"

namespace gdrbench::verbs {
namespace {

using Kind = Event::Kind;

struct Bench {
  explicit Bench(const GivenOptions& given = {}) : both((fake.add("mlx5_0"), fake), given) {
    // What connecting took is not what is counted.
    fake.sends = fake.doorbells = fake.receiveDoorbells = fake.inlined = fake.signalled = 0;
  }
  Lane& here() { return *both.initiator.lane; }
  Lane& there() { return *both.responder.lane; }

  FakeVerbs fake;
  Connected both;
};

Error failureOf(Lane& lane) {
  const std::vector<Event> events = pollAll(lane);
  REQUIRE_FALSE(events.empty());
  REQUIRE(events.back().kind == Kind::kFailed);
  return lane.errorDetail();
}

}  // namespace

TEST_CASE("lane: bytes and tickets arrive, for every operation and several queue pairs") {
  for (const char* op : {"write", "send"}) {
    for (const char* qps : {"1", "3"}) {
      CAPTURE(op);
      CAPTURE(qps);
      Bench bench(GivenOptions{{"op", op}, {"qps", qps}});
      std::memset(bench.both.initiator.source.data(), 0x5a, 4096 * 8);
      const auto data = messages(8, 1000);
      CHECK(bench.there().submit({}, data).expects == 8);
      CHECK(bench.here().submit(data, {}).sends == 8);
      const auto sent = pollAll(bench.here()), arrived = pollAll(bench.there());
      CHECK(countOf(sent, Kind::kSent) == 8);
      CHECK(countOf(arrived, Kind::kArrived) == 8);
      for (std::uint32_t slot = 0; slot < 8; ++slot) {
        const std::byte* bytes = bench.both.responder.target.data() + kLayout.offsetOf(slot);
        CHECK(bytes[999] == std::byte{0x5a});
        CHECK(bytes[1000] == std::byte{2});
      }
    }
  }
}

TEST_CASE("lane: a read fetches and is told as an arrival, sync messages are pushed") {
  Bench bench(GivenOptions{{"op", "read"}, {"qps", "2"}});
  std::memset(bench.both.responder.source.data(), 0x77, 4096);
  const Message fetch{9, 0, 4096}, sync{10, kLayout.syncSlot(), 8};
  CHECK(bench.here().submit({}, {&fetch, 1}).expects == 1);
  const auto events = pollAll(bench.here());
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == Kind::kArrived);
  CHECK(events[0].ticket == 9);
  CHECK(bench.both.initiator.target.data()[4095] == std::byte{0x77});
  CHECK(pollAll(bench.there()).empty());
  CHECK(bench.there().submit({}, {&sync, 1}).expects == 1);
  CHECK(bench.here().submit({&sync, 1}, {}).sends == 1);
  CHECK(countOf(pollAll(bench.there()), Kind::kArrived) == 1);
}

TEST_CASE("lane: an arrival is not told before it is expected") {
  Bench bench;
  const auto data = messages(4, 64);
  CHECK(bench.here().submit(data, {}).sends == 4);
  CHECK(pollAll(bench.there()).empty());
  // Asked for in another order, as over several queue pairs.
  for (const Ticket ticket : {2u, 0u, 3u, 1u}) {
    CHECK(bench.there().submit({}, {&data[ticket], 1}).expects == 1);
    const auto events = pollAll(bench.there());
    REQUIRE(events.size() == 1);
    CHECK(events[0].ticket == ticket);
  }
}

TEST_CASE("lane: one doorbell for a batch, or one for each") {
  for (const auto& [doorbell, count] : {std::pair{"batch", 1u}, {"each", 8u}}) {
    Bench bench(GivenOptions{{"doorbell", doorbell}});
    CHECK(bench.here().submit(messages(8, 512), {}).sends == 8);
    CHECK(bench.fake.doorbells == count);
    CHECK(bench.fake.sends == 8);
  }
}

TEST_CASE("lane: every n-th message is signalled, and the last of each batch") {
  const struct {
    const char* every;
    std::uint64_t batch, signalled;
  } kCases[] = {{"1", 8, 8}, {"4", 8, 2}, {"4", 7, 2}, {"3", 8, 3}, {"16", 5, 1}, {"4096", 1, 1}};
  for (const auto& each : kCases) {
    CAPTURE(each.every);
    Bench bench(GivenOptions{{"signal_every", each.every}});
    const auto data = messages(static_cast<std::uint32_t>(each.batch), 512);
    CHECK(bench.here().submit(data, {}).sends == each.batch);
    CHECK(bench.fake.signalled == each.signalled);
    const auto events = pollAll(bench.here());
    REQUIRE(events.size() == each.batch);
    for (std::uint32_t i = 0; i < each.batch; ++i) CHECK(events[i].ticket == i);
  }
}

TEST_CASE("lane: inline up to the threshold and not beyond, whatever the size of the batch") {
  Bench bench(GivenOptions{{"inline", "64B"}});
  for (const std::uint64_t bytes : {1u, 8u, 63u, 64u, 65u, 4096u}) {
    const Message message{1, 0, bytes};
    const std::uint64_t before = bench.fake.inlined;
    CHECK(bench.here().submit({&message, 1}, {}).sends == 1);
    CHECK(bench.fake.inlined - before == (bytes <= 64 ? 1 : 0));
    pollAll(bench.here());
  }
}

TEST_CASE("lane: a full send queue pushes back and loses nothing") {
  for (const char* every : {"1", "5"}) {
    Bench bench(GivenOptions{{"tx_depth", "8"}, {"signal_every", every}});
    const auto data = messages(100, 200);
    std::span<const Message> left(data);
    std::size_t arrived = 0;
    std::size_t sent = 0;
    CHECK(bench.there().submit({}, data).expects == 100);
    for (int turn = 0; turn < 100 && (sent < 100 || arrived < 100); ++turn) {
      const std::size_t taken = bench.here().submit(left, {}).sends;
      CHECK(taken <= 8);
      left = left.subspan(taken);
      sent += countOf(pollAll(bench.here()), Kind::kSent);
      arrived += countOf(pollAll(bench.there()), Kind::kArrived);
    }
    CHECK(sent == 100);
    CHECK(arrived == 100);
    CHECK_FALSE(bench.fake.overrun);
  }
}

TEST_CASE("lane: a poll with little room splits what one completion tells") {
  Bench bench;
  CHECK(bench.here().submit(messages(8, 64), {}).sends == 8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    Event event;
    REQUIRE(bench.here().poll({&event, 1}) == 1);
    CHECK(event.ticket == i);
  }
  CHECK(bench.here().poll({}) == 0);
}

TEST_CASE("lane: arrivals and sends that one completion tells of share what room there is") {
  for (const char* op : {"write", "send"}) {
    for (const std::size_t room : {1u, 2u, 3u, 5u, 64u}) {
      CAPTURE(op);
      CAPTURE(room);
      Bench bench(GivenOptions{{"op", op}, {"qps", "2"}, {"signal_every", "16"}});
      const auto data = messages(8, 64);
      for (Lane* lane : {&bench.here(), &bench.there()}) {
        CHECK(lane->submit({}, data).expects == 8);
      }
      for (Lane* lane : {&bench.here(), &bench.there()}) {
        CHECK(lane->submit(data, {}).sends == 8);
      }
      std::vector<Event> events(room), all;
      for (int turn = 0; turn < 40; ++turn) {
        const std::size_t count = bench.here().poll(events);
        REQUIRE(count <= room);
        all.insert(all.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
      }
      for (const Kind kind : {Kind::kSent, Kind::kArrived}) {
        std::array<int, 8> seen{};
        for (const Event& each : all) {
          REQUIRE(each.ticket < 8);
          if (each.kind == kind) ++seen[each.ticket];
        }
        for (const int times : seen) CHECK(times == 1);
      }
    }
  }
}

TEST_CASE("lane: messages that nobody expects yet are kept, and no more are let in than can be") {
  Bench bench(GivenOptions{{"rx_depth", "4"}});
  const auto data = messages(12, 64);
  // Two use half of the receives; then the queue is filled up, but only for what there is room for.
  CHECK(bench.here().submit(std::span(data).first(2), {}).sends == 2);
  CHECK(pollAll(bench.there()).empty());
  CHECK(bench.here().submit(std::span(data).subspan(2), {}).sends == 10);
  CHECK(pollAll(bench.there()).empty());
  for (const Message& each : data) {
    CHECK(bench.there().submit({}, {&each, 1}).expects == 1);
    const auto events = pollAll(bench.there());
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == Kind::kArrived);
    CHECK(events[0].ticket == each.ticket);
  }
  CHECK(countOf(pollAll(bench.here()), Kind::kSent) == 12);
}

TEST_CASE("lane: receives are posted also while completions come without a pause") {
  Bench bench(GivenOptions{{"rx_depth", "8"}});
  const auto data = messages(100, 64);
  CHECK(bench.there().submit({}, data).expects == 100);
  CHECK(bench.here().submit(data, {}).sends == 100);
  // Each of these finds something, so the lane is never idle.
  std::size_t arrived = 0;
  for (std::array<Event, 4> events; arrived < 100;) {
    const std::size_t count = bench.there().poll(events);
    REQUIRE(count == 4);
    arrived += count;
  }
}

TEST_CASE("lane: receives are posted again, many at once and not while there is work") {
  Bench bench;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Message message{i, 0, 8};
    CHECK(bench.there().submit({}, {&message, 1}).expects == 1);
    CHECK(bench.here().submit({&message, 1}, {}).sends == 1);
    pollAll(bench.here());
    CHECK(countOf(pollAll(bench.there()), Kind::kArrived) == 1);
  }
  CHECK(bench.fake.receiveDoorbells <= 2000 / 16 + 1);
}

TEST_CASE("lane: fewer receives than sends wait for the receiver, or fail in so many words") {
  {
    Bench bench(GivenOptions{{"rx_depth", "1"}});
    const auto data = messages(8, 64);
    CHECK(bench.there().submit({}, data).expects == 8);
    CHECK(bench.here().submit(data, {}).sends == 8);
    std::size_t sent = 0;
    std::size_t arrived = 0;
    for (int turn = 0; turn < 20; ++turn) {
      arrived += countOf(pollAll(bench.there()), Kind::kArrived);
      sent += countOf(pollAll(bench.here()), Kind::kSent);
    }
    CHECK(sent == 8);
    CHECK(arrived == 8);
  }
  for (const char* op : {"write", "send"}) {
    Bench bench(GivenOptions{{"op", op}, {"rx_depth", "1"}, {"rnr_retry", "1"}});
    const auto data = messages(8, 64);
    (void)bench.there().submit({}, data);
    CHECK(bench.here().submit(data, {}).sends == 8);
    const Error error = failureOf(bench.here());
    CHECK(error.nativeCode == IBV_WC_RNR_RETRY_EXC_ERR);
    CHECK(has(error.nativeText, "no receive posted"));
    CHECK(has(error.next, "rx_depth"));
  }
}

TEST_CASE("lane: a completion with error in the middle of a batch") {
  Bench bench(GivenOptions{{"signal_every", "1"}});
  bench.fake.badSends[bench.fake.nextSend() + 3] = IBV_WC_REM_ACCESS_ERR;
  CHECK(bench.here().submit(messages(8, 512), {}).sends == 8);
  const auto events = pollAll(bench.here());
  REQUIRE(events.size() == 4);  // three that were done, and the failure
  CHECK(events[2].kind == Kind::kSent);
  CHECK(events[3].kind == Kind::kFailed);
  const Error error = bench.here().errorDetail();
  // The cause, and not the flush of what came behind it.
  CHECK(error.nativeCode == IBV_WC_REM_ACCESS_ERR);
  CHECK(
      has(error.tried, "complete an RDMA write with immediate with mlx5_0 (1: RoCE v2, 10.0.0.1"));
  CHECK(has(error.nativeText, "vendor error 0x81"));
  const Message message{1, 0, 8};
  CHECK(bench.here().submit({&message, 1}, {&message, 1}).sends == 0);
  CHECK(countOf(pollAll(bench.here()), Kind::kFailed) == 1);
}

TEST_CASE("lane: the cause is told also when the flushes of everything else come first") {
  for (const char* receives : {"512", "4"}) {  // many reads of the completion queue, and one
    Bench bench(GivenOptions{{"rx_depth", receives}});
    bench.fake.flushesFirst = true;
    bench.fake.badSends[bench.fake.nextSend() + 1] = IBV_WC_REM_ACCESS_ERR;
    CHECK(bench.here().submit(messages(4, 512), {}).sends == 4);
    std::array<Event, 64> events;
    CHECK(bench.here().poll(events) == 1);
    CHECK(bench.here().errorDetail().nativeCode == IBV_WC_REM_ACCESS_ERR);
  }
}

TEST_CASE("lane: every status has words of its own, and what to check") {
  for (const ibv_wc_status status :
       {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
        IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
        IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,
        IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR}) {
    CAPTURE(status);
    Bench bench;
    bench.fake.badSends[bench.fake.nextSend()] = status;
    const Message message{1, 0, 512};
    CHECK(bench.here().submit({&message, 1}, {}).sends == 1);
    const Error error = failureOf(bench.here());
    CHECK(error.nativeCode == status);
    CHECK(has(error.nativeText, ibv_wc_status_str(status)));
    CHECK_FALSE(error.next.empty());
  }
}

TEST_CASE("lane: a peer that is gone is a lost peer") {
  Bench bench;
  bench.fake.dropArrivals = true;
  const Message message{1, 0, 512};
  CHECK(bench.here().submit({&message, 1}, {}).sends == 1);
  const Error error = failureOf(bench.here());
  CHECK(error.code == ErrorCode::kPeerLost);
  CHECK(has(error.next, "other side"));
}

TEST_CASE("lane: calls that fail are named") {
  const Message message{1, 0, 512};
  {
    Bench bench;
    bench.fake.postSendError = EINVAL;
    (void)bench.here().submit({&message, 1}, {});
    const Error error = failureOf(bench.here());
    CHECK(has(error.tried, "post a send on port 1 of mlx5_0"));
    CHECK(error.nativeCode == EINVAL);
  }
  Bench bench(GivenOptions{{"op", "send"}});
  bench.fake.postReceiveError = ENOMEM;
  (void)bench.here().submit({}, {&message, 1});
  CHECK(has(failureOf(bench.here()).tried, "post a receive"));
}

TEST_CASE("lane: a send of another length than expected is bad data") {
  Bench bench(GivenOptions{{"op", "send"}});
  const Message message{1, 0, 512};
  CHECK(bench.there().submit({}, {&message, 1}).expects == 1);
  bench.fake.wrongLengthBy = 3;
  CHECK(bench.here().submit({&message, 1}, {}).sends == 1);
  const Error error = failureOf(bench.there());
  CHECK(error.code == ErrorCode::kData);
  CHECK(has(error.what(), "515 bytes instead of 512"));
}

TEST_CASE("lane: asynchronous events end it at once, those of other ports do not") {
  const struct {
    ibv_event_type type;
    const char* text;
  } kEvents[] = {{IBV_EVENT_PORT_ERR, "port went down"},
                 {IBV_EVENT_QP_FATAL, "queue pair failed"},
                 {IBV_EVENT_CQ_ERR, "overrun"},
                 {IBV_EVENT_DEVICE_FATAL, "device failed"},
                 {IBV_EVENT_QP_ACCESS_ERR, "may not touch"}};
  for (const auto& each : kEvents) {
    CAPTURE(each.text);
    Bench bench;
    bench.fake.raise(IBV_EVENT_PORT_ERR, 2);
    bench.fake.raise(IBV_EVENT_GID_CHANGE);
    bench.fake.raise(each.type);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    Event event;
    while (bench.here().poll({&event, 1}) == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    REQUIRE(event.kind == Kind::kFailed);
    const Error error = bench.here().errorDetail();
    CHECK(has(error.what(), each.text));
    CHECK(has(error.what(), "port 1 of mlx5_0"));
    CHECK_FALSE(error.next.empty());
  }
}

}  // namespace gdrbench::verbs
