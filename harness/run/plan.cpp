// SPDX-License-Identifier: Apache-2.0
#include "harness/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <numeric>
#include <set>

#include "harness/core/digest.h"
#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/environment/environment.h"
#include "harness/environment/gpu_count.h"
#include "harness/run/memory_pairs.h"

namespace gdrbench {
namespace {

using config::errorAt;
using config::RunConfig;

config::Place placeOf(const RunConfig& config, std::string_view key) {
  const auto found = config.places.find(key);
  return found == config.places.end() ? config::Place{"defaults", 0, 0} : found->second;
}

/// Labels: as given, or the transport's own name for these options, numbered where two are equal.
Result<std::vector<std::string>> labelsOf(const RunConfig& config, const Registry& registry) {
  std::vector<std::string> labels;
  std::set<std::string, std::less<>> taken;
  for (const config::TransportConfig& entry : config.transports) {
    const TransportEntry& known = *registry.find(entry.transport);
    std::string label = entry.label;
    if (label.empty()) {
      label = known.label != nullptr ? known.label(entry.options) : std::string(known.name);
      const std::string stem = label;
      for (int n = 2; taken.contains(label); ++n) label = fmt::format("{}#{}", stem, n);
    } else if (taken.contains(label)) {
      return errorAt(entry.place, fmt::format("the label '{}' is used twice", label));
    }
    taken.insert(label);
    labels.push_back(std::move(label));
  }
  return labels;
}

Status validateTransports(const RunConfig& config, const Registry& registry) {
  for (const config::TransportConfig& entry : config.transports) {
    const TransportEntry& known = *registry.find(entry.transport);
    if (known.validate == nullptr) continue;
    if (Status good = known.validate(entry.options); !good) {
      return errorAt(entry.place, fmt::format("'{}': {}", entry.transport, good.error().what()));
    }
  }
  return Done{};
}

struct Cpus {
  std::optional<int> initiator, responder;
  bool given = false;  ///< at least one of them
};

bool asksForDisjoint(const RunConfig& config) {
  const auto& atOnce = config.run.list("pairs_at_once");
  return std::find(atOnce.begin(), atOnce.end(), OptionValue("disjoint")) != atOnce.end();
}

Result<Cpus> cpusOf(const RunConfig& config) {
  const OptionSet& group = config.groups.find("cpus")->second;
  const std::vector<int> allowed = allowedCpus();
  const auto [first, second] = chooseCpuPair();
  Cpus cpus{first, second, group.has("initiator") || group.has("responder")};
  for (const auto& [key, target] :
       {std::pair{"initiator", &cpus.initiator}, std::pair{"responder", &cpus.responder}}) {
    if (!group.has(key)) continue;
    const int cpu = static_cast<int>(group.integer(key));
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      std::vector<std::string> names;
      for (const int each : allowed) names.push_back(std::to_string(each));
      return errorAt(placeOf(config, std::string("cpus.") + key),
                     fmt::format("cpus.{}: CPU {} may not be used by this process; allowed: {}",
                                 key, cpu, listed(names)));
    }
    *target = cpu;
  }
  if (cpus.given && asksForDisjoint(config)) {
    return errorAt(placeOf(config, "cpus"),
                   "cpus: with 'pairs_at_once: disjoint' all pairs would run on the same two",
                   "leave it out: each pair then gets CPUs of its own");
  }
  // Only one was chosen: the other one moves out of its way.
  if (cpus.initiator == cpus.responder && allowed.size() > 1 &&
      !(group.has("initiator") && group.has("responder"))) {
    auto& free = group.has("initiator") ? cpus.responder : cpus.initiator;
    free = *std::find_if(allowed.begin(), allowed.end(), [&](int cpu) { return cpu != *free; });
  }
  return cpus;
}

/// All of a configuration's pairs of memory, with its names for many of them written out.
Result<std::vector<MemoryPair>> memoryOf(const RunConfig& config) {
  const int gpus = visibleGpus();
  std::vector<MemoryPair> all;
  for (const config::MemoryConfig& entry : config.memory) {
    auto pairs = memoryPairs(entry.source, entry.destination, gpus);
    if (!pairs) return errorAt(entry.place, "memory: " + pairs.error().what(), pairs.error().next);
    for (MemoryPair& pair : *pairs) {
      // One that is listed twice, or is among all pairs as well, is one.
      const bool known = std::any_of(all.begin(), all.end(), [&](const MemoryPair& each) {
        return each.source == pair.source && each.destination == pair.destination;
      });
      if (!known) all.push_back(std::move(pair));
    }
  }
  if (const auto names = namedInTwoWays(all); names && asksForDisjoint(config)) {
    return errorAt(
        placeOf(config, "memory"),
        fmt::format("memory: with 'pairs_at_once: disjoint' it must be clear which GPUs are "
                    "the same, and '{}' may be '{}'",
                    names->first, names->second),
        "name all of them by index, all by UUID, or all by PCI address");
  }
  return all;
}

/// The case's own settings come last and win.
void addSettings(std::vector<EnvironmentSetting> settings,
                 std::vector<EnvironmentSetting>& environment) {
  settings.insert(settings.end(), environment.begin(), environment.end());
  environment = std::move(settings);
}

std::vector<EnvironmentSetting> libraryStaging(const Case& c, const TransportEntry& entry) {
  if (entry.libraryStaged == nullptr) return {};
  return entry.libraryStaged(c.options);
}

std::optional<std::string> memoryProblem(const Case& c, const TransportEntry& entry,
                                         const std::vector<MemoryKind>& takes) {
  for (const MemoryName* memory : {&c.source, &c.destination}) {
    if (std::find(takes.begin(), takes.end(), memory->kind) == takes.end()) {
      return fmt::format("{} does not take {} memory{}", entry.name, memory->text(),
                         c.path == kStagedPath ? " on the path staged" : "");
    }
  }
  return {};
}

/// The decorator moves host memory over the transport, and the sender decides when.
std::optional<std::string> stagingProblem(const Case& c, const TransportEntry& entry,
                                          const Registry& registry) {
  if (registry.staging().make == nullptr) return "this gdrbench was built without the staged path";
  const Capabilities inner = entry.capabilities(c.options);
  const auto& takes = inner.memory;
  if (std::find(takes.begin(), takes.end(), MemoryKind::kPinned) == takes.end()) {
    return fmt::format("{} does not take pinned host memory, so nothing can be staged over it",
                       entry.name);
  }
  if (inner.flow != DataFlow::kPush) {
    return fmt::format("staging needs a transport that pushes; {} does '{}'", c.label,
                       inner.operation);
  }
  return memoryProblem(c, entry, registry.staging().capabilities(inner).memory);
}

/// Why this combination cannot run, where that is known without trying.
std::optional<std::string> skipReason(const Case& c, const TransportEntry& entry,
                                      const Registry& registry) {
  if (entry.make == nullptr && entry.module.empty()) {
    return fmt::format("{} is not built in; build with -D{}=ON", entry.name, entry.notBuilt);
  }
  if (c.path != kDirectPath && !onGpu(c)) {
    return fmt::format("path '{}' is for device memory; host memory needs no staging", c.path);
  }
  if (c.path == kStagedPath) return stagingProblem(c, entry, registry);
  if (c.path == kLibraryStagedPath && libraryStaging(c, entry).empty()) {
    return fmt::format("{} offers no way to tell the library to stage", c.label);
  }
  return memoryProblem(c, entry, capabilitiesOf(c, registry).memory);
}

std::string idOf(const Case& c, bool stamps) {
  std::string id = fmt::format("{}/{}", c.label, c.source.text());
  if (!(c.source == c.destination)) id += "-" + c.destination.text();
  id += fmt::format("/{}/{}/{}", c.path, c.pattern, sizeLiteral(c.bytes));
  if (!stamps) id += fmt::format("/{}/w{}/b{}", name(c.direction), c.window, c.batch);
  return id;
}

/// Those of a group begin together, and must not end before the others: time decides, not
/// precision.
void keepCompany(Case& c) {
  c.warmup.minTimeNs = c.warmup.maxTimeNs;
  c.stop.minTimeNs = c.stop.maxTimeNs;
  c.id += "/disjoint";
}

/// The product of one pattern's own lists, as cases without transport and memory.
struct PatternVariant {
  std::uint64_t bytes;
  std::uint32_t window = 1, batch = 1;
  Direction direction = Direction::kUni;
};

Result<std::vector<PatternVariant>> variantsOf(const config::PatternConfig& entry) {
  std::vector<PatternVariant> variants;
  const bool streams = entry.options.has("window");
  for (const std::uint64_t bytes : entry.sizes) {
    if (!streams) {
      variants.push_back({bytes});
      continue;
    }
    for (const OptionValue& direction : entry.options.list("direction")) {
      for (const OptionValue& window : entry.options.list("window")) {
        for (const OptionValue& batch : entry.options.list("batch")) {
          const auto w = std::get<std::int64_t>(window);
          const auto b = std::get<std::int64_t>(batch);
          if (b > w) {
            return errorAt(entry.place,
                           fmt::format("{}: batch {} is above window {}", entry.pattern, b, w),
                           "a batch is part of the window");
          }
          variants.push_back(
              {bytes, static_cast<std::uint32_t>(w), static_cast<std::uint32_t>(b),
               std::get<std::string>(direction) == "bi" ? Direction::kBi : Direction::kUni});
        }
      }
    }
  }
  return variants;
}

Verify verifyOf(const std::string& text) {
  return text == "all" ? Verify::kAll : text == "sample" ? Verify::kSample : Verify::kOff;
}

/// What all cases of a plan share.
Case commonCase(const RunConfig& config, const Cpus& cpus) {
  Case c;
  c.warmup = warmupRule(config.groups.find("warmup")->second);
  c.stop = stopRule(config.groups.find("stop")->second);
  c.verify = verifyOf(config.run.text("verify"));
  c.timeoutNs = config.run.integer("timeout");
  c.rawSamples = static_cast<std::uint64_t>(config.run.integer("raw_samples"));
  c.cudaMemory = config.run.text("cuda_memory");
  c.watching = config.run.text("witness") == "off" ? Watching::kNone : Watching::kFree;
  if (const auto staging = config.groups.find("staging"); staging != config.groups.end()) {
    c.staging = staging->second;
  }
  c.initiatorCpu = cpus.initiator;
  c.responderCpu = cpus.responder;
  c.cpusGiven = cpus.given;
  return c;
}

Expectations expectationsOf(const RunConfig& config) {
  const OptionSet& group = config.groups.find("expect")->second;
  Expectations expect;
  if (group.has("min_GBps")) expect.minBytesPerSecond = group.number("min_GBps") * 1e9;
  if (group.has("max_p50")) expect.maxP50Ns = static_cast<double>(group.integer("max_p50"));
  if (group.has("max_p99")) expect.maxP99Ns = static_cast<double>(group.integer("max_p99"));
  if (config.run.text("require") != "any") expect.path = config.run.text("require");
  return expect;
}

Result<std::string> baseOf(const RunConfig& config, const Registry& registry,
                           const std::vector<std::string>& labels) {
  const std::string asked = config.run.has("base") ? config.run.text("base") : "";
  if (!asked.empty()) {
    if (std::find(labels.begin(), labels.end(), asked) != labels.end()) return asked;
    std::vector<std::string_view> names(labels.begin(), labels.end());
    return errorAt(placeOf(config, "base"), fmt::format("base: no transport has the label '{}'{}",
                                                        asked, suggestion(asked, names)));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!registry.find(config.transports[i].transport)->overheadReference) return labels[i];
  }
  return labels.front();
}

class Expansion {
 public:
  Expansion(const RunConfig& config, const Registry& registry,
            const std::vector<std::string>& labels, const std::vector<MemoryPair>& memory,
            Case common, Plan& plan)
      : config_(config),
        registry_(registry),
        labels_(labels),
        memory_(memory),
        common_(std::move(common)),
        plan_(plan) {}

  Status run() {
    for (const config::PatternConfig& pattern : config_.patterns) {
      auto variants = variantsOf(pattern);
      if (!variants) return variants.error();
      for (const PatternVariant& variant : *variants) {
        for (const OptionValue& each : config_.run.list("pairs_at_once")) {
          addPairs(pattern, variant, std::get<std::string>(each) == "disjoint");
        }
      }
    }
    return Done{};
  }

 private:
  void addPairs(const config::PatternConfig& pattern, const PatternVariant& variant, bool atOnce) {
    if (!atOnce) {
      for (const MemoryPair& memory : memory_) {
        forEachTransport([&](std::size_t transport, const std::string& path) {
          addGroup({makeCase(transport, path, pattern, variant, memory)});
        });
      }
      return;
    }
    for (const auto& round : disjointRounds(memory_)) {
      forEachTransport([&](std::size_t transport, const std::string& path) {
        std::vector<Case> group;
        for (const std::size_t pair : round) {
          group.push_back(makeCase(transport, path, pattern, variant, memory_[pair]));
        }
        addGroup(togetherOf(std::move(group)));
      });
    }
  }

  template <class Add>
  void forEachTransport(Add add) {
    for (std::size_t i = 0; i < config_.transports.size(); ++i) {
      const config::TransportConfig& transport = config_.transports[i];
      const OptionSet& paths = transport.common.has("paths") ? transport.common : config_.run;
      for (const OptionValue& path : paths.list("paths")) add(i, std::get<std::string>(path));
    }
  }

  [[nodiscard]] Case makeCase(std::size_t number, const std::string& path,
                              const config::PatternConfig& pattern, const PatternVariant& variant,
                              const MemoryPair& memory) const {
    const config::TransportConfig& transport = config_.transports[number];
    Case c = common_;
    c.label = labels_[number];
    c.transport = transport.transport;
    c.options = transport.options;
    c.library = transport.library;
    c.env = transport.env;
    c.source = memory.source;
    c.destination = memory.destination;
    c.path = path;
    c.pattern = pattern.pattern;
    c.bytes = variant.bytes;
    c.drive = registry_.find(c.transport)->capabilities(c.options).drive;
    c.window = variant.window;
    c.batch = variant.batch;
    c.direction = variant.direction;
    c.id = idOf(c, findPattern(c.pattern)->make()->stampsMessages());
    const TransportEntry& entry = *registry_.find(c.transport);
    c.skip = skipReason(c, entry, registry_);
    if (!c.skip) c.skip = memory.problem;
    if (c.path == kLibraryStagedPath) addSettings(libraryStaging(c, entry), c.env);
    return c;
  }

  /// As a group: those that can run know how many they are.
  static std::vector<Case> togetherOf(std::vector<Case> group) {
    std::uint32_t able = 0;
    for (Case& c : group) {
      keepCompany(c);
      if (!c.skip) c.pairNumber = able++;
    }
    for (Case& c : group) {
      if (c.skip) continue;
      if (able < 2)
        c.skip = "there is no other pair without a GPU in common to run beside this one";
      c.beside = able - 1;
    }
    return group;
  }

  void addGroup(std::vector<Case> cases) {
    CaseGroup group;
    for (Case& c : cases) {
      // A size or window that is listed twice is one case.
      if (!ids_.insert(c.id).second) continue;
      if (!c.skip) group.push_back(plan_.cases.size());
      plan_.cases.push_back(std::move(c));
    }
    if (!group.empty()) plan_.groups.push_back(std::move(group));
  }

  const RunConfig& config_;
  const Registry& registry_;
  const std::vector<std::string>& labels_;
  const std::vector<MemoryPair>& memory_;
  Case common_;
  Plan& plan_;
  std::set<std::string> ids_;
};

/// At most, for one run of a case or of its group.
double secondsOf(const Case& c) {
  return static_cast<double>(c.warmup.maxTimeNs + c.stop.maxTimeNs) / 1e9;
}

std::size_t passesOf(const Plan& plan) {
  std::size_t passes = 0;
  for (const CaseGroup& group : plan.witnessed) passes += group.size();
  return passes;
}

}  // namespace

Result<Plan> makePlan(const RunConfig& config, const Registry& registry) {
  if (Status good = validateTransports(config, registry); !good) return good.error();
  auto labels = labelsOf(config, registry);
  if (!labels) return labels.error();
  auto memory = memoryOf(config);
  if (!memory) return memory.error();
  auto cpus = cpusOf(config);
  if (!cpus) return cpus.error();
  auto base = baseOf(config, registry, *labels);
  if (!base) return base.error();

  Plan plan;
  plan.name = config.run.text("name");
  plan.base = *std::move(base);
  plan.rounds = static_cast<int>(config.run.integer("rounds"));
  plan.expect = expectationsOf(config);
  Expansion expansion(config, registry, *labels, *memory, commonCase(config, *cpus), plan);
  if (Status expanded = expansion.run(); !expanded) return expanded.error();
  planWitnesses(plan, config.run.text("witness"), registry);

  std::string all = std::to_string(plan.rounds);
  for (const Case& c : plan.cases) all += writeJson(toJson(c, registry));
  plan.digest = fnv1a(all);
  return plan;
}

std::vector<std::size_t> orderOfRound(std::size_t groups, int round) {
  std::vector<std::size_t> order(groups);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (round % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

std::string describePlan(const Plan& plan) {
  std::string text = fmt::format("{}: {} cases, {} rounds, plan {}\n", plan.name, plan.cases.size(),
                                 plan.rounds, plan.digest);
  double seconds = 0;
  for (const Case& c : plan.cases) {
    const BlockPlan blocks = planBlocks(c);
    text += fmt::format("  {:<52} {:>12} bytes, {} messages a block, {} of memory{}\n", c.id,
                        c.bytes, blocks.messages, formatSize(2 * footprint(blocks)),
                        c.skip ? "  SKIPPED: " + *c.skip : "");
  }
  for (const CaseGroup& group : plan.groups)
    seconds += plan.rounds * secondsOf(plan.cases[group[0]]);
  if (!plan.witnessed.empty()) {
    text += fmt::format("then {} controls of the path and {} witness passes, short runs\n",
                        plan.controls.size(), passesOf(plan));
  }
  for (const ControlCase& control : plan.controls) seconds += secondsOf(control.testCase);
  for (const CaseGroup& group : plan.witnessed) {
    seconds += secondsOf(witnessPass(plan.cases[group.front()]));
  }
  text += fmt::format("at most about {:.0f} s, plus set-up\n", seconds);
  return text;
}

}  // namespace gdrbench
