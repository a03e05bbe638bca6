// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/rig.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "harness/bootstrap/channel.h"
#include "tests/transports/given_options.h"

namespace gdrbench::conformance {
namespace {

constexpr std::byte kUntouched{0xee};

const MemoryName& memoryOf(const Subject& subject, Role role) {
  return role == Role::kInitiator ? subject.memory : subject.peerMemory;
}

Buffer allocate(const Subject& subject, Role role, std::uint64_t bytes) {
  if (subject.allocate != nullptr) return subject.allocate(memoryOf(subject, role), bytes);
  constexpr std::uint64_t kPage = 4096;
  auto* data =
      static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage));
  return {data, bytes, MemoryName{}, -1,
          [](std::byte* memory, std::uint64_t) { std::free(memory); }};
}

void fillDifferently(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(state)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(bytes.data() + at, &state, std::min(sizeof(state), bytes.size() - at));
  }
}

void skip(const std::string& why) {
  std::cout << "[SKIPPED] " << why << "\n";
}

bool isAbsence(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotBuilt ||
         error.code == ErrorCode::kUnsupported;
}

/// Null, and the case is skipped or failed.
template <class T>
bool usable(const Subject& subject, const Result<T>& result) {
  if (result) return true;
  if (subject.mayBeAbsent && isAbsence(result.error())) {
    skip(result.error().what());
  } else {
    FAIL_CHECK(result.error().what());
  }
  return false;
}

OpenRequest requestOf(const Subject& subject, const OptionSet& options, const Shape& shape,
                      Role role, const std::string& namePrefix) {
  const Role peer = role == Role::kInitiator ? Role::kResponder : Role::kInitiator;
  return {.role = role,
          .options = options,
          .lane = {.layout = {.stride = shape.stride, .count = shape.slots},
                   .messageBytes = shape.stride,
                   .window = shape.window,
                   .peerOnThisHost = true,
                   .peerInThisProcess = subject.inOneProcess},
          .memory = memoryOf(subject, role),
          .peerMemory = memoryOf(subject, peer),
          .namePrefix = namePrefix,
          .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10)};
}

}  // namespace

Side::Side(const Subject& subject, const Shape& shape, Role role,
           std::unique_ptr<Transport> transport)
    : layout_{.stride = shape.stride, .count = shape.slots},
      view_(subject.view),
      syncWithoutBytes_(subject.syncWithoutBytes),
      transport_(std::move(transport)),
      source_(allocate(subject, role, layout_.totalBytes())),
      target_(allocate(subject, role, layout_.totalBytes())) {}

std::unique_ptr<Side> Side::open(const Subject& subject, const Shape& shape, Role role,
                                 const std::string& namePrefix) {
  static const Registry builtin = builtinTransports();
  const Registry& registry = subject.registry == nullptr ? builtin : *subject.registry;
  const TransportEntry* entry = registry.find(subject.transport);
  if (entry == nullptr && subject.mayBeAbsent) {
    skip("this build does not know transport " + subject.transport);
    return nullptr;
  }
  REQUIRE(entry != nullptr);
  const OptionSet options = optionsWith(entry->options, subject.options);
  if (entry->validate != nullptr) {
    Status valid = entry->validate(options);
    REQUIRE_MESSAGE(valid.ok(), valid.error().what());
  }
  Result<std::unique_ptr<Transport>> transport = registry.make(subject.transport);
  if (!usable(subject, transport)) return nullptr;

  std::unique_ptr<Side> side(new Side(subject, shape, role, *std::move(transport)));
  side->flow_ = side->transport_->capabilities(options).flow;
  fillDifferently({side->view(side->source_.data()), side->source_.bytes()},
                  role == Role::kInitiator ? 1 : 2);
  side->clearTarget();
  Result<std::unique_ptr<Endpoint>> endpoint =
      side->transport_->open(requestOf(subject, options, shape, role, namePrefix));
  if (!usable(subject, endpoint)) return nullptr;
  side->endpoint_ = *std::move(endpoint);
  for (auto [buffer, region] : {std::pair(&side->source_, &side->sourceRegion_),
                                std::pair(&side->target_, &side->targetRegion_)}) {
    Result<std::unique_ptr<MemoryRegion>> made = side->endpoint_->registerMemory(*buffer);
    if (!usable(subject, made)) return nullptr;
    *region = *std::move(made);
  }
  return side;
}

Bytes Side::address() {
  Result<Bytes> bytes = endpoint_->address(*sourceRegion_, *targetRegion_);
  REQUIRE_MESSAGE(bytes.ok(), bytes.error().what());
  REQUIRE(bytes->size() <= 64 * 1024);
  return *bytes;
}

Status Side::connect(const Bytes& peer, std::chrono::milliseconds within) {
  Result<std::unique_ptr<Lane>> lane = endpoint_->connect(
      peer, *sourceRegion_, *targetRegion_, std::chrono::steady_clock::now() + within);
  if (!lane) return lane.error();
  lane_ = *std::move(lane);
  return Done{};
}

void Side::leave() {
  lane_.reset();
  targetRegion_.reset();
  sourceRegion_.reset();
  endpoint_.reset();
}

std::byte* Side::source(std::uint32_t slot) const {
  return view(source_.data()) + layout_.offsetOf(slot);
}

void Side::clearTarget() {
  std::memset(view(target_.data()), static_cast<int>(kUntouched), target_.bytes());
}

std::unique_ptr<Rig> connectedRig(const Subject& subject, const Shape& shape) {
  const std::string prefix = freshPrefix();
  auto rig = std::make_unique<Rig>();
  rig->responder = Side::open(subject, shape, Role::kResponder, prefix);
  if (!rig->responder) return nullptr;
  rig->initiator = Side::open(subject, shape, Role::kInitiator, prefix);
  if (!rig->initiator) return nullptr;
  const Bytes ofResponder = rig->responder->address();
  const Bytes ofInitiator = rig->initiator->address();
  Status accepted = Done{};
  std::thread other(
      [&] { accepted = rig->responder->connect(ofInitiator, std::chrono::seconds(10)); });
  const Status connected = rig->initiator->connect(ofResponder, std::chrono::seconds(10));
  other.join();
  if (!usable(subject, connected) || !usable(subject, accepted)) return nullptr;
  return rig;
}

std::string freshPrefix() {
  // In the form that the program uses, so that what a killed test left behind is known as stale.
  static const std::string ours = (removeStaleLeftovers(), uniqueNamePrefix());
  static std::atomic<int> counter{0};
  return fmt::format("{}{}-", ours, ++counter);
}

Talk::Talk(Side& side, std::vector<Send> sends, std::vector<Expect> expects)
    : side_(side), sends_(std::move(sends)), expects_(std::move(expects)) {
  // Pulled slots are fetched by the peer's expect: their sender does nothing.
  if (side.flow() == DataFlow::kPull) {
    std::erase_if(sends_, [&](const Send& send) { return send.slot != side.layout().syncSlot(); });
  }
}

void Talk::step() {
  const std::span<const Send> sends(sends_);
  const std::span<const Expect> expects(expects_);
  if (submittedSends_ != sends.size() || submittedExpects_ != expects.size()) {
    const Accepted accepted =
        side_.lane().submit(sends.subspan(submittedSends_), expects.subspan(submittedExpects_));
    submittedSends_ += accepted.sends;
    submittedExpects_ += accepted.expects;
  }
  Event events[8];
  const std::size_t count = side_.lane().poll(events);
  for (std::size_t i = 0; i < count; ++i) {
    if (events[i].kind == Event::Kind::kFailed) {
      failed_ = true;
      return;
    }
    ++events_;
    ++(events[i].kind == Event::Kind::kSent ? sent_ : arrived_)[events[i].ticket];
  }
}

bool Talk::over() const {
  return failed_ || events_ >= sends_.size() + expects_.size();
}

void Talk::checkEvents() const {
  CHECK(sent_.size() == sends_.size());
  CHECK(arrived_.size() == expects_.size());
  for (const Send& send : sends_) {
    const auto found = sent_.find(send.ticket);
    const int times = found == sent_.end() ? 0 : found->second;
    CHECK_MESSAGE(times == 1, "sent: ticket " << send.ticket);
  }
  for (const Expect& expect : expects_) {
    const auto found = arrived_.find(expect.ticket);
    const int times = found == arrived_.end() ? 0 : found->second;
    CHECK_MESSAGE(times == 1, "arrived: ticket " << expect.ticket);
  }
}

void run(Talk& initiator, Talk& responder) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!initiator.over() || !responder.over()) {
    initiator.step();
    responder.step();
    if (initiator.failed() || responder.failed()) break;
    REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, "events are missing");
  }
  for (const Talk* talk : {&initiator, &responder}) {
    if (talk->failed()) FAIL(talk->side().lane().errorDetail().what());
  }
  // An event too many would come now.
  for (int i = 0; i < 10; ++i) {
    initiator.step();
    responder.step();
  }
  initiator.checkEvents();
  responder.checkEvents();
}

void checkTarget(const Talk& to, const Side& from) {
  if (from.flow() == DataFlow::kNone) return;
  const std::span<const std::byte> target = to.side().target();
  std::vector<std::byte> expected(target.size(), kUntouched);
  for (const Expect& expect : to.expects()) {
    if (!from.moves(expect)) continue;
    std::memcpy(expected.data() + from.layout().offsetOf(expect.slot), from.source(expect.slot),
                expect.bytes);
  }
  // In one piece first: tests are not optimised, and a loop over bytes would be most of their time.
  std::uint64_t bad = target.size();
  if (std::memcmp(target.data(), expected.data(), target.size()) != 0) {
    bad = 0;
    while (target[bad] == expected[bad]) ++bad;
  }
  CHECK_MESSAGE(bad == target.size(), "first wrong byte at offset " << bad);
}

}  // namespace gdrbench::conformance
