// SPDX-License-Identifier: Apache-2.0
// What the conformance suite does not ask: faults of the driver, combinations that cannot be, two
// processes, what is claimed and what is left.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "tests/fakes/fake_buffer.h"
#include "tests/fakes/fake_cuda.h"
#include "transports/cuda_copy/cuda_copy_transport.h"

namespace gdrbench::cuda_copy {
namespace {

namespace fake = cuda::fake;

constexpr std::uint64_t kBytes = 4096;
constexpr SlotLayout kLayout{.stride = kBytes, .count = 8};

MemoryName gpu(const std::string& name) {
  return {MemoryKind::kCuda, name};
}
MemoryName pinned() {
  return {MemoryKind::kPinned, {}};
}

void useMachine(const fake::Machine& machine) {
  static const bool installed = (fake::install({}), true);
  static_cast<void>(installed);
  fake::reset(machine);
}

struct Setting {
  MemoryName mine = gpu("0"), peers = gpu("1");
  bool peerAccess = true;
  bool inOneProcess = true;
  bool onThisHost = true;
  std::uint32_t window = 8;
  SlotLayout layout = kLayout;
};

OpenRequest requestOf(const Setting& setting, Role role) {
  OptionSet set = OptionSet::defaults(options());
  set.set("peer_access", {setting.peerAccess});
  const bool first = role == Role::kInitiator;
  return {.role = role,
          .options = set,
          .lane = {.layout = setting.layout,
                   .messageBytes = setting.layout.stride,
                   .window = setting.window,
                   .peerOnThisHost = setting.onThisHost,
                   .peerInThisProcess = setting.inOneProcess},
          .memory = first ? setting.mine : setting.peers,
          .peerMemory = first ? setting.peers : setting.mine};
}

Deadline within(int seconds) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

/// One side, up to its address.
struct Side {
  Side(const Setting& setting, Role role)
      : source(fake::allocateBuffer(memoryOf(setting, role), setting.layout.totalBytes())),
        target(fake::allocateBuffer(memoryOf(setting, role), setting.layout.totalBytes())) {
    auto opened = transport->open(requestOf(setting, role));
    REQUIRE_MESSAGE(opened.ok(), opened.error().what());
    endpoint = *std::move(opened);
    sourceRegion = *endpoint->registerMemory(source);
    targetRegion = *endpoint->registerMemory(target);
  }
  static const MemoryName& memoryOf(const Setting& setting, Role role) {
    return role == Role::kInitiator ? setting.mine : setting.peers;
  }
  Status connect(const Bytes& peer) {
    auto connected = endpoint->connect(peer, *sourceRegion, *targetRegion, within(10));
    if (!connected) return connected.error();
    lane = *std::move(connected);
    return Done{};
  }
  [[nodiscard]] Bytes address() const { return *endpoint->address(*sourceRegion, *targetRegion); }
  [[nodiscard]] std::byte* bytes(const Buffer& buffer) const {
    return fake::hostView(buffer.data());
  }
  /// Empty where there is none: then no side of this pair lies in a GPU.
  [[nodiscard]] std::string outcome() const {
    std::string text;
    for (const auto& seen : endpoint->observations()) {
      text +=
          std::string(evidence::name(seen.outcome)) + " " + std::string(evidence::name(seen.side));
    }
    return text;
  }
  [[nodiscard]] std::string claim(const std::string& key) const {
    for (const Claim& each : endpoint->claims()) {
      if (each.key == key) return each.value;
    }
    return "no claim " + key;
  }

  std::unique_ptr<Transport> transport = make();
  Buffer source, target;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> sourceRegion, targetRegion;
  std::unique_ptr<Lane> lane;
};

struct Pair {
  explicit Pair(const Setting& setting = {})
      : initiator(setting, Role::kInitiator), responder(setting, Role::kResponder) {
    const Bytes there = responder.address(), here = initiator.address();
    std::thread other([&] { accepted = responder.connect(here); });
    connected = initiator.connect(there);
    other.join();
  }
  [[nodiscard]] bool good() const {
    if (!connected.ok()) MESSAGE(connected.error().what());
    if (!accepted.ok()) MESSAGE(accepted.error().what());
    return connected.ok() && accepted.ok();
  }
  Status connected = Done{}, accepted = Done{};
  Side initiator, responder;
};

/// Polls until an event comes, or too often.
Event nextEvent(Lane& lane, int most = 1000) {
  Event event;
  for (int i = 0; i < most; ++i) {
    if (lane.poll({&event, 1}) == 1) return event;
  }
  return {Event::Kind::kFailed, 0xdead};
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuda_copy: a message arrives when its copy is done, and not before") {
  useMachine({.links = {{{0, 1}, {.queries = 20}}}});
  Pair pair;
  REQUIRE(pair.good());
  std::memset(pair.initiator.bytes(pair.initiator.source), 7, kBytes);
  const Message message{1, 0, kBytes};
  REQUIRE(pair.initiator.lane->submit({&message, 1}, {}).sends == 1);
  REQUIRE(pair.responder.lane->submit({}, {&message, 1}).expects == 1);
  Event event;
  int polls = 0;
  while (pair.responder.lane->poll({&event, 1}) == 0) {
    CHECK(pair.responder.bytes(pair.responder.target)[0] != std::byte{7});
    REQUIRE(++polls < 100);
    pair.initiator.lane->poll({});
  }
  CHECK(polls == 20);
  CHECK(event.kind == Event::Kind::kArrived);
  CHECK(pair.responder.bytes(pair.responder.target)[kBytes - 1] == std::byte{7});
  CHECK(nextEvent(*pair.initiator.lane).kind == Event::Kind::kSent);
}

TEST_CASE("cuda_copy: one question for each poll, however many copies are under way") {
  useMachine({.links = {{{0, 1}, {.queries = 1000}}}});
  Pair pair;
  REQUIRE(pair.good());
  for (Ticket ticket = 0; ticket < 8; ++ticket) {
    const Message message{ticket, ticket, kBytes};
    REQUIRE(pair.initiator.lane->submit({&message, 1}, {}).sends == 1);
  }
  const std::uint64_t before = fake::counters().queries;
  Event event;
  for (int i = 0; i < 50; ++i) CHECK(pair.initiator.lane->poll({&event, 1}) == 0);
  CHECK(fake::counters().queries - before == 50);
}

TEST_CASE(
    "cuda_copy: the messages of one call share an event, and large ones do not wait for all") {
  useMachine({});
  Pair pair;
  REQUIRE(pair.good());
  std::vector<Message> messages;
  for (Ticket i = 0; i < 8; ++i) messages.push_back({i, i, kBytes});
  REQUIRE(pair.initiator.lane->submit(messages, {}).sends == 8);
  Event events[8];
  std::size_t came = 0;
  while (came == 0) came = pair.initiator.lane->poll(events);
  CHECK(came == 8);

  constexpr std::uint64_t kLarge = 16u << 20;
  Pair large({.layout = {.stride = kLarge, .count = 2}});
  REQUIRE(large.good());
  const Message two[] = {{1, 0, kLarge}, {2, 1, kLarge}};
  REQUIRE(large.initiator.lane->submit(two, {}).sends == 2);
  came = 0;
  while (came == 0) came = large.initiator.lane->poll(events);
  CHECK(came == 1);
  CHECK(events[0].ticket == 1);
}

TEST_CASE("cuda_copy: what is in a stream is bounded, and what is not taken is not lost") {
  useMachine({});
  Pair pair({.window = 1000});
  REQUIRE(pair.good());
  std::vector<Message> messages;
  for (Ticket i = 0; i < 600; ++i) messages.push_back({i, i % 8, 64});
  std::size_t taken = pair.initiator.lane->submit(messages, {}).sends;
  CHECK(taken == 256);
  CHECK(pair.initiator.lane->submit(messages, {}).sends == 0);
  std::size_t sent = 0;
  while (sent < messages.size()) {
    Event events[64];
    const std::size_t came = pair.initiator.lane->poll(events);
    for (std::size_t i = 0; i < came; ++i) CHECK(events[i].ticket == sent + i);
    sent += came;
    taken += pair.initiator.lane->submit(std::span(messages).subspan(taken), {}).sends;
  }
}

TEST_CASE("cuda_copy: a corrupt link is seen by who checks, and the lane goes on") {
  useMachine({.links = {{{0, 1}, {.corruptByte = 17}}}});
  Pair pair;
  REQUIRE(pair.good());
  const Message message{1, 3, kBytes};
  pair.initiator.lane->submit({&message, 1}, {});
  pair.responder.lane->submit({}, {&message, 1});
  CHECK(nextEvent(*pair.initiator.lane).kind == Event::Kind::kSent);
  CHECK(nextEvent(*pair.responder.lane).kind == Event::Kind::kArrived);
  const std::byte* sent = pair.initiator.bytes(pair.initiator.source) + 3 * kBytes;
  const std::byte* came = pair.responder.bytes(pair.responder.target) + 3 * kBytes;
  CHECK(std::mismatch(sent, sent + kBytes, came).first - sent == 17);
}

TEST_CASE("cuda_copy: copies that are refused or fail end the lane, with both ends and the code") {
  for (const bool refused : {true, false}) {
    useMachine({});
    Pair pair;
    REQUIRE(pair.good());
    const cuda::Code code = 719;
    (refused ? fake::link(0, 1).refusal : fake::link(0, 1).failure) = code;
    const Message message{1, 0, kBytes};
    pair.initiator.lane->submit({&message, 1}, {});
    CHECK(nextEvent(*pair.initiator.lane).kind == Event::Kind::kFailed);
    CHECK(nextEvent(*pair.initiator.lane).kind == Event::Kind::kFailed);
    const Error error = pair.initiator.lane->errorDetail();
    CHECK(error.nativeCode == code);
    CHECK(has(error.what(), "from GPU 0000:10:00.0 to GPU 0000:11:00.0"));
    CHECK(has(error.what(), refused ? "start a copy" : "finish a copy"));
  }
}

TEST_CASE("cuda_copy: GPUs without peer access are named, and so is the way around") {
  for (const bool inOneProcess : {true, false}) {
    useMachine({.links = {{{0, 1}, {.peerAccess = false}}, {{1, 0}, {.peerAccess = false}}}});
    Pair pair({.inOneProcess = inOneProcess});
    REQUIRE_FALSE(pair.connected.ok());
    CHECK(pair.connected.error().code == ErrorCode::kUnsupported);
    CHECK(has(pair.connected.error().what(), "0000:10:00.0"));
    CHECK(has(pair.connected.error().what(), "0000:11:00.0"));
    CHECK(has(pair.connected.error().next, "peer_access: false"));
    CHECK_FALSE(pair.accepted.ok());

    Pair around({.peerAccess = false, .inOneProcess = inOneProcess});
    REQUIRE(around.good());
    CHECK(has(around.initiator.claim("peer access"), "host memory"));
    CHECK(around.initiator.outcome() == "staged both");
    const Message message{1, 0, kBytes};
    around.initiator.lane->submit({&message, 1}, {});
    CHECK(nextEvent(*around.initiator.lane).kind == Event::Kind::kSent);
    CHECK(fake::counters().stagedCopies == 1);
  }
}

TEST_CASE("cuda_copy: with peer access nothing is staged, and the claims say what was done") {
  useMachine({});
  for (const bool inOneProcess : {true, false}) {
    Pair pair({.inOneProcess = inOneProcess});
    REQUIRE(pair.good());
    const Message message{1, 0, kBytes};
    pair.initiator.lane->submit({&message, 1}, {});
    CHECK(nextEvent(*pair.initiator.lane).kind == Event::Kind::kSent);
    CHECK(fake::counters().stagedCopies == 0);
    CHECK(pair.initiator.claim("peer access") == "enabled");
    CHECK(pair.initiator.outcome() == "direct both");
    CHECK(pair.responder.outcome() == "direct both");
    CHECK(pair.initiator.claim("copies from") == "GPU 0000:10:00.0");
    CHECK(pair.initiator.claim("copies to") == "GPU 0000:11:00.0");
    CHECK(has(pair.initiator.claim("target mapped by"), inOneProcess ? "one process" : "CUDA IPC"));
    CHECK(has(pair.responder.claim("arrival"), "sender's CPU"));
  }
  Pair same({.mine = gpu("1"), .peers = gpu("0000:11:00.0")});
  REQUIRE(same.good());
  CHECK(same.initiator.claim("peer access") == "same GPU");
  Pair host({.mine = pinned(), .peers = gpu("1")});
  REQUIRE(host.good());
  CHECK(host.initiator.outcome() == "direct sink");
  CHECK(host.responder.outcome() == "direct source");
  CHECK(host.initiator.claim("copies from") == "pinned host memory");
  CHECK(host.responder.claim("copies to") == "pinned host memory");
  CHECK(host.initiator.claim("copies put on a stream of") == "GPU 0000:11:00.0");
}

TEST_CASE("cuda_copy: combinations that cannot be are refused with the next step") {
  useMachine({});
  const auto refusal = [](const Setting& setting) {
    auto opened = make()->open(requestOf(setting, Role::kInitiator));
    REQUIRE_FALSE(opened.ok());
    return opened.error();
  };
  const Error split = refusal({.mine = pinned(), .inOneProcess = false});
  CHECK(split.code == ErrorCode::kUnsupported);
  CHECK(has(split.next, "processes: 1"));
  CHECK(has(split.what(), "host memory of another process"));
  const Error hosts = refusal({.mine = pinned(), .peers = {}});
  CHECK(hosts.code == ErrorCode::kUnsupported);
  CHECK(has(hosts.next, "loopback"));
  CHECK(refusal({.onThisHost = false}).code == ErrorCode::kUnsupported);
  const Error range = refusal({.mine = gpu("7")});
  CHECK(range.code == ErrorCode::kNotFound);
  CHECK(has(range.what(), "cuda:1"));
}

TEST_CASE("cuda_copy: an address that is damaged, of another kind or too small is no address") {
  useMachine({});
  const auto connect = [](const std::function<void(Bytes&)>& damage) {
    Side initiator({}, Role::kInitiator), responder({}, Role::kResponder);
    Bytes bytes = responder.address();
    damage(bytes);
    return initiator.connect(bytes);
  };
  const auto wrongSize = connect([](Bytes& bytes) { bytes.pop_back(); });
  REQUIRE_FALSE(wrongSize.ok());
  CHECK(wrongSize.error().code == ErrorCode::kProtocol);
  const auto wrongMagic = connect([](Bytes& bytes) { bytes[0] ^= std::byte{1}; });
  REQUIRE_FALSE(wrongMagic.ok());
  CHECK(wrongMagic.error().code == ErrorCode::kProtocol);
  const auto wrongKind = connect([](Bytes& bytes) { bytes[4] ^= std::byte{1}; });
  REQUIRE_FALSE(wrongKind.ok());
  CHECK(wrongKind.error().code == ErrorCode::kMismatch);
}

TEST_CASE("cuda_copy: two processes, each with its own driver") {
  useMachine({});
  const Setting setting{.inOneProcess = false};
  int there[2], back[2];
  REQUIRE(pipe(there) == 0);
  REQUIRE(pipe(back) == 0);
  const auto swap = [](int out, int in, const Bytes& mine) {
    Bytes peers(mine.size());
    const auto size = static_cast<ssize_t>(mine.size());
    if (write(out, mine.data(), mine.size()) != size) _exit(9);
    if (read(in, peers.data(), peers.size()) != size) _exit(9);
    return peers;
  };
  const Message message{5, 2, kBytes};
  const pid_t child = fork();
  if (child == 0) {
    Side responder(setting, Role::kResponder);
    if (!responder.connect(swap(back[1], there[0], responder.address()))) _exit(1);
    responder.lane->submit({}, {&message, 1});
    Event event = nextEvent(*responder.lane, 1 << 28);
    if (event.kind != Event::Kind::kArrived || event.ticket != 5) _exit(2);
    const bool good = responder.bytes(responder.target)[2 * kBytes] == std::byte{42};
    _exit(good ? 0 : 3);
  }
  Side initiator(setting, Role::kInitiator);
  std::memset(initiator.bytes(initiator.source), 42, kLayout.totalBytes());
  REQUIRE(initiator.connect(swap(there[1], back[0], initiator.address())).ok());
  initiator.lane->submit({&message, 1}, {});
  CHECK(nextEvent(*initiator.lane).kind == Event::Kind::kSent);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (const int fd : {there[0], there[1], back[0], back[1]}) close(fd);
}

TEST_CASE("cuda_copy: everything that was taken is given back") {
  useMachine({});
  {
    Pair pair({.inOneProcess = false});
    REQUIRE(pair.good());
    CHECK(fake::counters().imports == 2);
    // Copies are still under way as everything goes.
    const Message message{1, 0, kBytes};
    pair.initiator.lane->submit({&message, 1}, {});
  }
  const fake::Counters left = fake::counters();
  CHECK(left.imports + left.allocations + left.streams + left.events == 0);
  CHECK(left.contexts == 0);
}

TEST_CASE("cuda_copy: probe lists the GPUs and whom they reach") {
  useMachine({.gpus = 3, .links = {{{0, 2}, {.peerAccess = false}}}});
  const auto devices = make()->probe();
  REQUIRE(devices.ok());
  REQUIRE(devices->size() == 3);
  CHECK(has((*devices)[0].detail, "peer access to cuda:1"));
  CHECK_FALSE(has((*devices)[0].detail, "cuda:2"));
  useMachine({.gpus = 1});
  CHECK(has((*make()->probe())[0].detail, "peer access to none"));
}

}  // namespace gdrbench::cuda_copy
