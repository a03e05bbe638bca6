// SPDX-License-Identifier: Apache-2.0
// Two endpoints over the fake, connected, and small helpers.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/transports/given_options.h"
#include "tests/transports/verbs/fake_verbs.h"
#include "transports/verbs/options.h"
#include "transports/verbs/platform.h"
#include "transports/verbs/verbs_endpoint.h"

namespace gdrbench::verbs {

inline OptionSet with(const GivenOptions& given) {
  return optionsWith(options(), given);
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Nothing of this machine's own /sys and /proc is looked at.
inline Platform platformOf(FakeVerbs& fake) {
  return {
      .calls = fake, .sys = "/nonexistent/sys", .proc = "/nonexistent/proc", .exportDmaBuf = {}};
}

constexpr SlotLayout kLayout{.stride = 4096, .count = 8};

inline OpenRequest requestOf(const GivenOptions& given, Role role = Role::kInitiator) {
  return {.role = role,
          .options = with(given),
          .lane = {.layout = kLayout, .messageBytes = 4096, .window = 8},
          .memory = {},
          .namePrefix = "gdrbench-verbs-test-",
          .deadline = {}};
}

inline Buffer hostBuffer(std::uint64_t bytes, std::byte fill = std::byte{0}) {
  auto* data = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  std::fill_n(data, bytes, fill);
  return {data, bytes, {}, -1, [](std::byte* memory, std::uint64_t) { std::free(memory); }};
}

/// One side, from open to connect.
struct Side {
  Side(FakeVerbs& fake, const GivenOptions& given, Role as)
      : role(as),
        source(hostBuffer(kLayout.totalBytes(), std::byte{1})),
        target(hostBuffer(kLayout.totalBytes(), std::byte{2})) {
    auto opened = VerbsEndpoint::open(platformOf(fake), requestOf(given, role));
    REQUIRE_MESSAGE(opened.ok(), opened.error().what());
    endpoint = *std::move(opened);
    sourceRegion = registered(source);
    targetRegion = registered(target);
    auto bytes = endpoint->address(*sourceRegion, *targetRegion);
    REQUIRE(bytes.ok());
    address = *std::move(bytes);
  }
  std::unique_ptr<MemoryRegion> registered(const Buffer& buffer) {
    auto region = endpoint->registerMemory(buffer);
    REQUIRE_MESSAGE(region.ok(), region.error().what());
    return *std::move(region);
  }
  Status connect(const Bytes& peer, std::chrono::milliseconds within = std::chrono::seconds(10)) {
    auto made = endpoint->connect(peer, *sourceRegion, *targetRegion,
                                  std::chrono::steady_clock::now() + within);
    if (!made) return std::move(made).error();
    lane = *std::move(made);
    return Done{};
  }

  Role role;
  Buffer source, target;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> sourceRegion, targetRegion;
  Bytes address;
  std::unique_ptr<Lane> lane;
};

struct Connected {
  explicit Connected(FakeVerbs& fake, const GivenOptions& given = {})
      : initiator(fake, given, Role::kInitiator), responder(fake, given, Role::kResponder) {
    Status there = Done{};
    std::thread other([&] { there = responder.connect(initiator.address); });
    Status here = initiator.connect(responder.address);
    other.join();
    REQUIRE_MESSAGE(here.ok(), here.error().what());
    REQUIRE_MESSAGE(there.ok(), there.error().what());
  }
  Side initiator, responder;
};

/// All events that come within a few polls.
inline std::vector<Event> pollAll(Lane& lane) {
  std::vector<Event> all;
  std::array<Event, 8> events;
  for (int idle = 0; idle < 4;) {
    const std::size_t count = lane.poll(events);
    all.insert(all.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
    if (count != 0 && events[count - 1].kind == Event::Kind::kFailed) return all;
    idle = count == 0 ? idle + 1 : 0;
  }
  return all;
}

inline std::size_t countOf(const std::vector<Event>& events, Event::Kind kind) {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const Event& each) { return each.kind == kind; }));
}

inline std::vector<Message> messages(std::uint32_t count, std::uint64_t bytes, Ticket first = 0) {
  std::vector<Message> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back({first + i, i % kLayout.count, bytes});
  return made;
}

}  // namespace gdrbench::verbs
