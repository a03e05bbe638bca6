// SPDX-License-Identifier: Apache-2.0
// A ping-pong over the verbs transport between two devices, with both sides in this process and no
// measurement around it: for `verbs_parity --instructions`, which counts what a message costs.
//
//   verbs_ping_pong OP BYTES MESSAGES DEVICE RESPONDER_DEVICE GID_INDEX
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "harness/memory/memory_space.h"
#include "harness/patterns/pattern.h"
#include "transports/registry.h"

using namespace gdrbench;

namespace {

constexpr SlotLayout kLayout{.stride = 65536, .count = 8};
constexpr auto kTime = std::chrono::minutes(10);

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().what());
  std::exit(2);
}

struct Side {
  Side(const Registry& registry, const OptionSet& options, Role as)
      : role(as), transport(must(registry.make("verbs"))) {
    space = must(openMemorySpace({}, {.ownBytes = 2 * kLayout.totalBytes()}));
    source.emplace(must(space->allocate(kLayout.totalBytes())));
    target.emplace(must(space->allocate(kLayout.totalBytes())));
    endpoint = must(transport->open({.role = role,
                                     .options = options,
                                     .lane = {.layout = kLayout, .messageBytes = kLayout.stride},
                                     .deadline = deadline}));
    sourceRegion = must(endpoint->registerMemory(*source));
    targetRegion = must(endpoint->registerMemory(*target));
    address = must(endpoint->address(*sourceRegion, *targetRegion));
  }
  void connect(const Bytes& peer) {
    lane = must(endpoint->connect(peer, *sourceRegion, *targetRegion, deadline));
  }

  Role role;
  Deadline deadline = std::chrono::steady_clock::now() + kTime;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<MemorySpace> space;
  std::optional<Buffer> source, target;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> sourceRegion, targetRegion;
  Bytes address;
  std::unique_ptr<Lane> lane;
};

OptionSet optionsOf(const TransportEntry& entry, char** words) {
  OptionSet set = OptionSet::defaults(entry.options);
  const std::pair<const char*, int> kGiven[] = {
      {"op", 1}, {"device", 4}, {"responder_device", 5}, {"gid_index", 6}};
  for (const auto& [name, index] : kGiven) set.set(name, {std::string(words[index])});
  return set;
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    fmt::print(stderr, "OP BYTES MESSAGES DEVICE RESPONDER_DEVICE GID_INDEX\n");
    return 2;
  }
  const Registry registry = builtinTransports();
  const TransportEntry& entry = *registry.find("verbs");
  const OptionSet options = optionsOf(entry, words);
  Side initiator(registry, options, Role::kInitiator),
      responder(registry, options, Role::kResponder);
  // The counter, as on any machine that has an invariant one, and as perftest does anywhere. Its
  // unit is of no interest here.
  const Clock clock = Clock::tsc(1.0);
  const Block block{.layout = kLayout,
                    .bytes = std::strtoull(words[2], nullptr, 10),
                    .messages = static_cast<std::uint32_t>(std::strtoul(words[3], nullptr, 10)),
                    .flow = entry.capabilities(options).flow};
  const auto pattern = findPattern("ping-pong")->make();
  // Longer than callgrind takes in an emulated machine; a message that is lost ends it all the
  // same.
  const Ticks end = clock.now() + clock.ticks(std::chrono::minutes(10));

  std::thread other([&] {
    responder.connect(initiator.address);
    Guard guard(clock, end, false);
    must(pattern->respond({*responder.lane, clock, guard}, block));
  });
  initiator.connect(responder.address);
  std::vector<Ticks> samples(block.messages);
  Guard guard(clock, end, false);
  must(pattern->initiate({*initiator.lane, clock, guard}, block, samples));
  other.join();
  return 0;
}
