// SPDX-License-Identifier: Apache-2.0
// What the harness adds to a message. Interleaved in rounds:
//   - two stamps and nothing between them: what a ping-pong sample contains of the clock itself
//   - a ping-pong sample over the null transport       bar: p50 at most 40 ns above that
//   - a stream over the null transport, no stamps      bar: at most 10 ns a message
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/measure/statistics.h"
#include "harness/memory/memory_space.h"
#include "harness/patterns/pattern.h"
#include "transports/registry.h"

using namespace gdrbench;

namespace {

constexpr std::uint32_t kMessages = 1000;
constexpr int kRounds = 200;

struct NullLane {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<MemorySpace> space;
  std::vector<Buffer> buffers;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> source, target;
  std::unique_ptr<Lane> lane;
};

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().what());
  std::exit(2);
}

NullLane openNull(const Registry& registry, const SlotLayout& layout) {
  const auto entries = registry.entries();
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [](const auto& e) { return e.overheadReference; });
  NullLane parts;
  parts.transport = must(registry.make(entry->name));
  parts.space = must(openMemorySpace({}, {.bothBytes = 4 * layout.totalBytes()}));
  parts.buffers.reserve(2);
  for (int i = 0; i < 2; ++i)
    parts.buffers.push_back(must(parts.space->allocate(layout.totalBytes())));
  OpenRequest request{.role = Role::kInitiator, .options = OptionSet::defaults(entry->options)};
  request.lane = {.layout = layout, .messageBytes = layout.stride, .window = 256};
  request.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  parts.endpoint = must(parts.transport->open(request));
  parts.source = must(parts.endpoint->registerMemory(parts.buffers[0]));
  parts.target = must(parts.endpoint->registerMemory(parts.buffers[1]));
  const Bytes address = must(parts.endpoint->address(*parts.source, *parts.target));
  parts.lane =
      must(parts.endpoint->connect(address, *parts.source, *parts.target, request.deadline));
  return parts;
}

double pairOfStamps(const Clock& clock) {
  std::vector<double> samples(kMessages);
  for (double& sample : samples) {
    const Ticks start = clock.now();
    sample = clock.nanoseconds(clock.now() - start);
  }
  return median(samples);
}

}  // namespace

int main() {
  const Clock clock = Clock::calibrate();
  const Registry registry = builtinTransports();
  const SlotLayout layout{64, 1024};
  NullLane null = openNull(registry, layout);
  Guard guard(clock, ~Ticks{0}, false);
  const Stage stage{*null.lane, clock, guard};
  const auto pingPong = findPattern("ping-pong")->make();
  const auto stream = findPattern("stream")->make();
  Block block{.layout = layout, .bytes = 64, .messages = kMessages, .flow = DataFlow::kNone};
  Block streamed = block;
  streamed.window = 256;
  streamed.batch = 16;

  std::vector<double> stamps, pings, each;
  std::vector<Ticks> samples(kMessages);
  for (int round = 0; round < kRounds; ++round) {
    stamps.push_back(pairOfStamps(clock));
    must(pingPong->initiate(stage, block, samples));
    std::vector<double> ns;
    for (const Ticks sample : samples) ns.push_back(clock.nanoseconds(sample));
    pings.push_back(median(ns));
    each.push_back(clock.nanoseconds(must(stream->initiate(stage, streamed, {}))) / kMessages);
    ++block.sequence;
    ++streamed.sequence;
  }
  const double added = median(pings) - median(stamps);
  const double message = median(each);
  fmt::print("two stamps {:.1f} ns; null ping-pong p50 {:.1f} ns: {:.1f} ns above (bar 40)\n",
             median(stamps), median(pings), added);
  fmt::print("null stream {:.2f} ns a message (bar 10)\n", message);
  return added <= 40 && message <= 10 ? 0 : 1;
}
