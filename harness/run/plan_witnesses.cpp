// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/run/plan.h"

namespace gdrbench {
namespace {

bool takes(const Capabilities& can, const MemoryName& memory) {
  return std::find(can.memory.begin(), can.memory.end(), memory.kind) != can.memory.end();
}

/// Large enough that every counter moves visibly, and over in a moment.
Case controlLike(const Case& c) {
  Case control = c;
  control.pattern = "ping-pong";
  control.bytes = 1 << 20;
  control.window = control.batch = 1;
  control.direction = Direction::kUni;
  control.beside = control.pairNumber = 0;
  control.watching = Watching::kAll;
  control.rawSamples = 0;
  control.warmup = {16, 1'000'000, 50'000'000};
  control.stop = {.iterations = 256, .maxTimeNs = 500'000'000};
  return control;
}

class Controls {
 public:
  Controls(Plan& plan, const Registry& registry) : plan_(plan), registry_(registry) {}

  void addFor(const Case& c) {
    // Host memory on one side can be neither staged nor reached from the other process.
    if (c.source.kind != MemoryKind::kCuda || c.destination.kind != MemoryKind::kCuda) return;
    for (const TransportEntry& entry : registry_.entries()) {
      if (entry.directControl) addDirect(c, entry);
      if (entry.stagedControl) addStaged(c, entry);
    }
    addLibraryStaged(c);
  }

 private:
  void addDirect(const Case& c, const TransportEntry& entry) {
    Case control = over(c, entry, kDirectPath);
    const Capabilities can = entry.capabilities(control.options);
    if (!takes(can, c.source) || !takes(can, c.destination)) return;
    add(fmt::format("{}, {}: nothing else can move the bytes", entry.name, memoryText(c)), false,
        std::move(control));
  }

  void addStaged(const Case& c, const TransportEntry& entry) {
    if (registry_.staging().make == nullptr) return;
    add(fmt::format("copies through host memory by gdrbench itself, {} between", entry.name), true,
        over(c, entry, kStagedPath));
  }

  /// The library of the case itself, told to stage: its own account must say so.
  void addLibraryStaged(const Case& c) {
    const TransportEntry& entry = *registry_.find(c.transport);
    if (c.path != kDirectPath || entry.libraryStaged == nullptr) return;
    std::vector<EnvironmentSetting> settings = entry.libraryStaged(c.options);
    if (settings.empty()) return;
    Case control = controlLike(c);
    control.path = kLibraryStagedPath;
    settings.insert(settings.end(), control.env.begin(), control.env.end());
    control.env = std::move(settings);
    add(fmt::format("{}, told to go through host memory", c.label), true, std::move(control));
  }

  /// With default options: what is known of its path is known of these.
  [[nodiscard]] Case over(const Case& c, const TransportEntry& entry, std::string_view path) const {
    Case control = controlLike(c);
    control.transport = std::string(entry.name);
    control.label = std::string(entry.name);
    control.options = OptionSet::defaults(entry.options);
    control.library.clear();
    control.env.clear();
    control.path = std::string(path);
    control.cudaMemory = "auto";  // what the control's own transport needs
    control.drive = entry.capabilities(control.options).drive;
    return control;
  }

  void add(std::string what, bool staged, Case control) {
    control.id = fmt::format("control/{}/{}/{}", control.label, memoryText(control), control.path);
    if (!ids_.insert(control.id).second) return;
    plan_.controls.push_back({std::move(what), staged, std::move(control)});
  }

  Plan& plan_;
  const Registry& registry_;
  std::set<std::string> ids_;
};

/// Within one GPU the witness of the way is a PCIe counter of 32 bits that must not move by the
/// payload: it must not have turned over either, and so the payload is bounded. A window is filled
/// all the same.
std::uint64_t messagesWithinOneGpu(const Case& c) {
  constexpr std::uint64_t kBytes = std::uint64_t{256} << 20, kMost = 1024;
  return std::max<std::uint64_t>(
      std::clamp<std::uint64_t>(kBytes / std::max<std::uint64_t>(c.bytes, 1), 1, kMost), c.window);
}

}  // namespace

Case witnessPass(const Case& timed) {
  constexpr std::int64_t kShort = 300'000'000;
  Case pass = timed;
  pass.watching = Watching::kAll;
  pass.rawSamples = 0;
  pass.stop.maxTimeNs = std::min(pass.stop.maxTimeNs, kShort);
  pass.stop.minTimeNs = std::min(pass.stop.minTimeNs, kShort);
  if (onGpu(timed) && timed.source == timed.destination && timed.path == kDirectPath) {
    const std::uint64_t few = messagesWithinOneGpu(timed);
    pass.stop.iterations = std::min(pass.stop.iterations.value_or(few), few);
  }
  return pass;
}

void planWitnesses(Plan& plan, std::string_view witness, const Registry& registry) {
  if (witness == "off" || witness == "free") return;
  Controls controls(plan, registry);
  // A group differs in nothing but its pairs of memory: what holds for one holds for all.
  for (const CaseGroup& group : plan.groups) {
    const Case& first = plan.cases[group.front()];
    if (capabilitiesOf(first, registry).flow == DataFlow::kNone) continue;
    if (witness == "auto" && !onGpu(first)) continue;
    plan.witnessed.push_back(group);
    for (const std::size_t index : group) {
      if (onGpu(plan.cases[index])) controls.addFor(plan.cases[index]);
    }
  }
}

}  // namespace gdrbench
