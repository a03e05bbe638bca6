// SPDX-License-Identifier: Apache-2.0
// The three stages together: boundaries of chunks, copies that are slow or fail, a wire that fails,
// a receiver that does not keep up.
#include <doctest/doctest.h>

#include "tests/fakes/fake_cuda.h"
#include "tests/transports/staged/staged_subject.h"
#include "transports/loopback/loopback_transport.h"
#include "transports/staged/staged_transport.h"

namespace gdrbench::staged {
namespace {

using conformance::connectedRig;
using conformance::Rig;
using conformance::Side;
using conformance::Talk;
using cuda::fake::kHost;

constexpr std::uint64_t kChunk = 4096;

/// A machine of its own for each case: links are slow or broken. `counting`: its streams can write
/// to memory how far they are.
struct Machine {
  explicit Machine(bool counting = false) { cuda::fake::reset({.memoryOperations = counting}); }
  ~Machine() { cuda::fake::reset({}); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
};

std::unique_ptr<Rig> rigOf(Options options, std::uint64_t stride, std::uint32_t slots = 4,
                           std::uint32_t window = 4) {
  auto rig = connectedRig(subject(std::move(options)), {stride, slots, window});
  REQUIRE(rig);
  return rig;
}

std::vector<Message> messages(std::uint32_t count, std::uint64_t bytes, std::uint32_t slots) {
  std::vector<Message> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back({i, i % slots, bytes});
  return made;
}

void exchange(Rig& rig, const std::vector<Message>& there, const std::vector<Message>& back) {
  rig.initiator->clearTarget();
  rig.responder->clearTarget();
  Talk initiator(*rig.initiator, there, back), responder(*rig.responder, back, there);
  run(initiator, responder);
  checkTarget(responder, *rig.initiator);
  checkTarget(initiator, *rig.responder);
}

/// Steps both until one fails; which is then asked for the reason.
Error failureOf(Talk& initiator, Talk& responder) {
  for (int i = 0; i < 200'000 && !initiator.failed() && !responder.failed(); ++i) {
    initiator.step();
    responder.step();
  }
  REQUIRE((initiator.failed() || responder.failed()));
  const Talk& failed = initiator.failed() ? initiator : responder;
  return failed.side().lane().errorDetail();
}

/// The claim by what copies are known to be done.
std::string follows(const Rig& rig) {
  for (const Claim& claim : rig.initiator->endpoint().claims()) {
    if (claim.key == "staging_follows") return claim.value;
  }
  return {};
}

bool says(const Error& error, std::string_view words) {
  return error.what().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("sizes around the chunk, at several depths and windows") {
  for (const auto& entry : {std::pair("1", false), std::pair("2", false), std::pair("8", false),
                            std::pair("1", true), std::pair("3", true), std::pair("8", true)}) {
    const std::string depth = entry.first;
    CAPTURE(depth);
    CAPTURE(entry.second);
    const Machine machine(entry.second);
    for (const std::uint32_t window : {1u, 4u}) {
      CAPTURE(window);
      auto rig = rigOf({{"chunk", "4KiB"}, {"depth", depth}, {"low_latency", "2KiB"}},
                       40 * kChunk + 64, 4, window);
      for (const std::uint64_t bytes : {std::uint64_t{1}, kChunk - 1, kChunk, kChunk + 1,
                                        2 * kChunk, 40 * kChunk, 40 * kChunk + 1}) {
        CAPTURE(bytes);
        exchange(*rig, messages(3, bytes, 4), messages(2, bytes, 4));
      }
    }
  }
}

TEST_CASE("a sender that was told 'sent' need not poll any more") {
  const Machine machine;
  cuda::fake::link(0, kHost).queries = 20;
  for (const char* over : {"loopback", "tcp"}) {
    auto rig = rigOf({{"over", over}, {"chunk", "4KiB"}, {"depth", "4"}}, 40 * kChunk);
    for (const std::uint64_t bytes : {std::uint64_t{8}, 40 * kChunk}) {
      rig->responder->clearTarget();
      const Message one{0, 1, bytes};
      Talk sender(*rig->initiator, {one}, {}), receiver(*rig->responder, {}, {one});
      while (!sender.over()) {
        sender.step();
        receiver.step();
      }
      for (int i = 0; i < 1'000'000 && !receiver.over(); ++i) receiver.step();
      REQUIRE(receiver.over());
      REQUIRE_FALSE(receiver.failed());
      checkTarget(receiver, *rig->initiator);
    }
  }
}

TEST_CASE("slow copies, in either stage") {
  const Machine machine;
  for (const auto& [from, to] : {std::pair(0, kHost), std::pair(kHost, 1)}) {
    cuda::fake::reset({});
    cuda::fake::link(from, to).queries = 40;
    auto rig = rigOf({{"chunk", "4KiB"}, {"depth", "3"}}, 10 * kChunk);
    exchange(*rig, messages(40, 10 * kChunk - 5, 4), messages(40, 700, 4));
  }
}

TEST_CASE("small messages share events, and run out of them without loss") {
  const Machine machine;
  cuda::fake::link(0, kHost).queries = 30;
  cuda::fake::link(kHost, 1).queries = 30;
  auto rig = rigOf({}, 64, 512, 512);
  const std::uint64_t before = cuda::fake::counters().queries;
  exchange(*rig, messages(2000, 8, 512), messages(2000, 64, 512));
  CHECK(cuda::fake::counters().queries > before);
}

TEST_CASE("a window of 1 waits for small copies and asks for no event") {
  const Machine machine;
  auto rig = rigOf({{"low_latency", "4KiB"}}, 2 * kChunk, 4, 1);
  CHECK(follows(*rig).find("cuStreamWriteValue32") != std::string::npos);  // why not by a counter
  const std::uint64_t before = cuda::fake::counters().queries;
  exchange(*rig, messages(1, 8, 4), messages(1, kChunk, 4));
  CHECK(cuda::fake::counters().queries == before);
  exchange(*rig, messages(1, kChunk + 1, 4), {});
  CHECK(cuda::fake::counters().queries > before);
}

TEST_CASE(
    "where the stream counts, no event is asked for, and the driver only after a long silence") {
  for (const std::uint32_t window : {1u, 512u}) {
    CAPTURE(window);
    const Machine machine(true);
    cuda::fake::link(0, kHost).queries = 3;
    cuda::fake::link(kHost, 1).queries = 3;
    auto rig = rigOf({{"low_latency", "4KiB"}}, 2 * kChunk, 512, window);
    CHECK(follows(*rig).find("a counter that the stream writes") != std::string::npos);
    const std::uint64_t events = cuda::fake::counters().events;
    for (const std::uint64_t bytes : {std::uint64_t{8}, kChunk, 2 * kChunk}) {
      const std::uint32_t count = window == 1 ? 1 : 700;
      exchange(*rig, messages(count, bytes, 512), messages(count, bytes, 512));
    }
    CHECK(cuda::fake::counters().events == events);
  }
}

TEST_CASE("a window of 1 stays at the counter of a small copy before it asks the wire again") {
  for (const auto& [from, to] : {std::pair(0, kHost), std::pair(kHost, 1)}) {
    const Machine machine(true);
    cuda::fake::link(from, to).queries = 1;  // done when the driver is asked: long after a look
    auto rig = rigOf({{"low_latency", "4KiB"}}, kChunk, 4, 1);
    const auto one = messages(1, 8, 4);
    Talk sender(*rig->initiator, one, {}), receiver(*rig->responder, {}, one);
    int steps = 0;
    for (; steps < 1000 && !receiver.over(); ++steps) {
      sender.step();
      receiver.step();
    }
    CHECK(steps < 20);
    checkTarget(receiver, *rig->initiator);
  }
}

TEST_CASE("a stream that fails counts no further: the driver is asked, and says why") {
  for (const auto& [from, to] : {std::pair(0, kHost), std::pair(kHost, 1)}) {
    const Machine machine(true);
    cuda::fake::link(from, to).failure = 719;
    auto rig = rigOf({}, kChunk);
    const auto one = messages(1, 8, 4);
    Talk initiator(*rig->initiator, one, {}), responder(*rig->responder, {}, one);
    const Error error = failureOf(initiator, responder);
    CHECK(error.nativeCode == 719);
    CHECK(says(error, "cuStreamQuery"));
  }
}

TEST_CASE("credits hold a sender whose receiver does not keep up") {
  const Machine machine;
  for (const char* over : {"loopback", "tcp"}) {
    auto rig = rigOf({{"over", over}, {"chunk", "4KiB"}, {"depth", "4"}}, kChunk, 64, 64);
    const auto many = messages(64, kChunk, 64);
    rig->responder->clearTarget();
    Talk initiator(*rig->initiator, many, {}), responder(*rig->responder, {}, many);
    for (int i = 0; i < 2000; ++i) initiator.step();
    CHECK_FALSE(initiator.over());
    CHECK(cuda::fake::counters().copies <= 8);  // what is on the wire, and the slots again
    run(initiator, responder);
    checkTarget(responder, *rig->initiator);
    rig.reset();
    cuda::fake::reset({});
  }
}

TEST_CASE("a slot is not written again before its bytes are on the GPU") {
  const Machine machine;
  cuda::fake::link(kHost, 1).queries = 200;  // read only when the copy ends
  for (const char* op : {"write", "send"}) {
    auto rig = connectedRig(
        [&] {
          auto made = overLibfabric("shm", op);
          made.options.insert(made.options.end(), {{"chunk", "4KiB"}, {"depth", "2"}});
          return made;
        }(),
        {64 * kChunk, 2, 2});
    if (!rig) return;
    exchange(*rig, messages(2, 64 * kChunk, 2), messages(2, 64 * kChunk, 2));
  }
}

TEST_CASE("a copy that fails names its stage, the call, and CUDA's code") {
  struct Case {
    int from, to;
    bool refuse;
    std::string_view stage, call;
  };
  const Machine machine;
  for (const Case& each : {Case{0, kHost, false, "the GPU to pinned memory", "cuEventQuery"},
                           Case{0, kHost, true, "the GPU to pinned memory", "cuMemcpyAsync"},
                           Case{kHost, 1, false, "pinned memory to the GPU", "cuEventQuery"},
                           Case{kHost, 1, true, "pinned memory to the GPU", "cuMemcpyAsync"}}) {
    cuda::fake::reset({});
    auto& link = cuda::fake::link(each.from, each.to);
    (each.refuse ? link.refusal : link.failure) = 719;
    link.goodCopies = 5;
    {
      auto rig = rigOf({{"chunk", "4KiB"}, {"depth", "2"}}, 16 * kChunk);
      const auto talk = messages(4, 16 * kChunk, 4);
      Talk initiator(*rig->initiator, talk, {}), responder(*rig->responder, {}, talk);
      const Error error = failureOf(initiator, responder);
      INFO(error.what());
      CHECK(error.code == ErrorCode::kTransport);
      CHECK(error.nativeCode == 719);
      CHECK(says(error, each.stage));
      CHECK(says(error, each.call));
      CHECK((says(error, "4 chunks were done") || says(error, "5 chunks were done")));
    }
  }
}

TEST_CASE("a wire that fails says so, in its own words") {
  const Machine machine;
  for (const char* call : {"3", "20", "100"}) {
    CAPTURE(call);
    auto rig = rigOf({{"over", "faulty"},
                      {"inner", std::string("side=initiator,fail_call=") + call},
                      {"chunk", "4KiB"},
                      {"depth", "2"}},
                     16 * kChunk);
    const auto talk = messages(4, 16 * kChunk, 4);
    Talk initiator(*rig->initiator, talk, talk), responder(*rig->responder, talk, talk);
    const Error error = failureOf(initiator, responder);
    INFO(error.what());
    CHECK(says(error, "a failure that was asked for"));
    CHECK(says(error, "of the staged path"));
  }
}

TEST_CASE("an arrival that the wire reports twice is not taken for another chunk") {
  const Machine machine;
  auto rig = rigOf({{"over", "faulty"}, {"inner", "duplicate=2"}, {"chunk", "4KiB"}}, 16 * kChunk);
  const auto talk = messages(4, 16 * kChunk, 4);
  Talk initiator(*rig->initiator, talk, {}), responder(*rig->responder, {}, talk);
  CHECK(says(failureOf(initiator, responder), "reported a chunk twice"));
}

TEST_CASE("a message that fits no slot is refused before anything moves") {
  const Machine machine;
  auto rig = rigOf({}, kChunk);
  const Message tooLong{1, 0, kChunk + 1};
  CHECK(rig->initiator->lane().submit({&tooLong, 1}, {}).sends == 0);
  Event event;
  REQUIRE(rig->initiator->lane().poll({&event, 1}) == 1);
  CHECK(event.kind == Event::Kind::kFailed);
  CHECK(says(rig->initiator->lane().errorDetail(), "4097 bytes"));
}

TEST_CASE("a peer that leaves with all it wanted does not break the sender's last words") {
  const Machine machine;
  auto rig = rigOf({{"over", "tcp"}, {"chunk", "4KiB"}, {"depth", "4"}}, kChunk, 16, 16);
  const auto some = messages(3, kChunk, 16);
  {
    Talk initiator(*rig->initiator, some, some), responder(*rig->responder, some, some);
    run(initiator, responder);
  }
  rig->responder->leave();
  // Fits into what was granted: local completion is all that a sender is told.
  Talk last(*rig->initiator, messages(1, 64, 16), {});
  for (int i = 0; i < 1000 && !last.over(); ++i) last.step();
  CHECK_FALSE(last.failed());
}

TEST_CASE("nothing is left at the driver") {
  const Machine machine;
  const auto before = cuda::fake::counters();
  auto rig = rigOf({}, kChunk);
  exchange(*rig, messages(4, 100, 4), messages(4, 100, 4));
  CHECK(cuda::fake::counters().registrations > before.registrations);
  rig.reset();
  const auto after = cuda::fake::counters();
  CHECK(after.registrations == before.registrations);
  CHECK(after.streams == before.streams);
  CHECK(after.events == before.events);
  CHECK(after.allocations == before.allocations);
  CHECK(after.contexts == before.contexts);
}

}  // namespace gdrbench::staged
