// SPDX-License-Identifier: Apache-2.0
#include "harness/run/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "harness/core/digest.h"
#include "harness/core/json.h"
#include "harness/memory/memory_space.h"
#include "harness/patterns/lane_driver.h"

namespace gdrbench {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
/// A device takes some thousand operations in advance before the host has to wait, and each message
/// has a time mark of its own.
constexpr std::uint64_t kMostOnStream = 512;

std::uint64_t strideOf(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Slots of a ping-pong. Few enough that both rings stay in a core's own cache, as they do in tools
/// that use one buffer; enough that what is lost at a block's edges is small.
std::uint64_t pingPongSlots(std::uint64_t stride) {
  constexpr std::uint64_t kRing = 256 * kKiB;
  if (stride > 16 * kMiB) return 1;
  return std::clamp<std::uint64_t>(kRing / stride, 5, 1024);
}

/// Slots of a stream: several windows, so that filling and draining the pipe is a small part.
std::uint64_t streamSlots(std::uint64_t stride, std::uint64_t window) {
  constexpr std::uint64_t kRing = 32 * kMiB;
  const std::uint64_t fits = std::max<std::uint64_t>(1, kRing / stride);
  return std::max(window, std::min(fits, std::max<std::uint64_t>(4 * window, 4096)));
}

std::uint32_t leadInOf(std::uint64_t slots) {
  return slots >= 64 ? 4 : slots >= 4 ? 1 : 0;
}

json::object optionsToJson(OptionTable table, const OptionSet& set) {
  json::object object;
  for (const Option& option : table) {
    if (!set.has(option.name)) continue;
    json::array values;
    for (const OptionValue& value : set.list(option.name)) {
      values.emplace_back(literal(option, value));
    }
    object.emplace(option.name, std::move(values));
  }
  return object;
}

}  // namespace

std::string memoryText(const Case& c) {
  if (c.source == c.destination) return c.source.text();
  return fmt::format("{} -> {}", c.source.text(), c.destination.text());
}

bool onGpu(const Case& c) {
  return c.source.kind == MemoryKind::kCuda || c.destination.kind == MemoryKind::kCuda;
}

std::string_view name(Watching watching) {
  switch (watching) {
    case Watching::kNone:
      return "off";
    case Watching::kFree:
      return "free";
    case Watching::kAll:
      return "full";
  }
  return "";
}

std::string_view name(Verify verify) {
  switch (verify) {
    case Verify::kAll:
      return "all";
    case Verify::kSample:
      return "sample";
    case Verify::kOff:
      break;
  }
  return "off";
}

std::string_view name(Direction direction) {
  return direction == Direction::kUni ? "uni" : "bi";
}

BlockPlan planBlocks(const Case& testCase) {
  const std::uint64_t stride = strideOf(testCase.bytes);
  const std::uint64_t most = testCase.stop.iterations.value_or(~std::uint64_t{0});
  const bool stamps = findPattern(testCase.pattern)->make()->stampsMessages();

  BlockPlan plan;
  plan.window = static_cast<std::uint32_t>(std::min<std::uint64_t>(testCase.window, most));
  plan.batch = std::min(testCase.batch, plan.window);
  const std::uint64_t slots = stamps ? pingPongSlots(stride) : streamSlots(stride, plan.window);
  plan.leadIn = stamps ? leadInOf(slots) : 0;
  plan.layout = {stride, static_cast<std::uint32_t>(slots)};

  // Where every message is checked, each has a slot of its own in the block. Otherwise slots are
  // used again and again, and a block is as long as sixteen rings; of small messages 1024 at least.
  std::uint64_t messages = slots - plan.leadIn;
  if (testCase.verify != Verify::kAll) {
    const std::uint64_t least = std::min(std::uint64_t{1024}, 4096 * kMiB / stride);
    messages = std::max(16 * slots, least) - plan.leadIn;
  }
  if (testCase.drive == Drive::kStream) messages = std::min(messages, kMostOnStream - plan.leadIn);
  plan.messages =
      static_cast<std::uint32_t>(std::min({messages, most, std::uint64_t{kMaxBlockMessages / 2}}));
  // The device's own order takes the place of a window: a whole block is under way.
  if (testCase.drive == Drive::kStream && !stamps)
    plan.window = std::max(plan.messages, plan.batch);
  return plan;
}

std::uint64_t footprint(const BlockPlan& plan) {
  return 2 * plan.layout.totalBytes();
}

Capabilities capabilitiesOf(const Case& testCase, const Registry& registry) {
  Capabilities can = registry.find(testCase.transport)->capabilities(testCase.options);
  if (testCase.path != kStagedPath || registry.staging().capabilities == nullptr) return can;
  return registry.staging().capabilities(can);
}

boost::json::value toJson(const Case& c, const Registry& registry) {
  const TransportEntry* entry = registry.find(c.transport);
  json::object env;
  for (const auto& [key, value] : c.env) env.emplace(key, value);
  json::object object{
      {"id", c.id},
      {"label", c.label},
      {"transport", c.transport},
      {"options", entry == nullptr ? json::object{} : optionsToJson(entry->options, c.options)},
      {"library", c.library},
      {"env", std::move(env)},
      {"source", c.source.text()},
      {"destination", c.destination.text()},
      {"path", c.path},
      {"staging", optionsToJson(registry.staging().options, c.staging)},
      {"cuda_memory", c.cudaMemory},
      {"drive", name(c.drive)},
      {"pattern", c.pattern},
      {"bytes", c.bytes},
      {"window", c.window},
      {"batch", c.batch},
      {"direction", name(c.direction)},
      {"beside", c.beside},
      {"pair_number", c.pairNumber},
      {"warmup_messages", c.warmup.minMessages},
      {"warmup_min_ns", c.warmup.minTimeNs},
      {"warmup_max_ns", c.warmup.maxTimeNs},
      {"stop_iterations", c.stop.iterations ? json::value(*c.stop.iterations) : json::value()},
      {"stop_precision", c.stop.precision},
      {"stop_min_ns", c.stop.minTimeNs},
      {"stop_max_ns", c.stop.maxTimeNs},
      {"verify", name(c.verify)},
      {"watching", name(c.watching)},
      {"timeout_ns", c.timeoutNs},
      {"raw_samples", c.rawSamples},
      {"initiator_cpu", c.initiatorCpu ? json::value(*c.initiatorCpu) : json::value()},
      {"responder_cpu", c.responderCpu ? json::value(*c.responderCpu) : json::value()},
      {"cpus_given", c.cpusGiven},
  };
  return object;
}

namespace {

/// Reads the members of one JSON object; remembers the first thing that was wrong.
class Members {
 public:
  explicit Members(const json::value& value) : object_(value.if_object()) {
    if (object_ == nullptr) complain("a case", "is not an object");
  }

  template <class T>
  T number(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr) return {};
    json::error_code wrong;
    const T result = value->to_number<T>(wrong);
    if (wrong) complain(key, "is not a number of the right kind");
    return wrong ? T{} : result;
  }
  template <class T>
  std::optional<T> maybe(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr || value->is_null()) return {};
    return number<T>(key);
  }
  bool flag(std::string_view key) {
    const json::value* value = find(key);
    if (value != nullptr && !value->is_bool()) complain(key, "is neither true nor false");
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  std::string text(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      complain(key, "is not a string");
      return {};
    }
    return std::string(value->get_string());
  }
  const json::object& object(std::string_view key) {
    static const json::object kNone;
    const json::value* value = find(key);
    if (value == nullptr) return kNone;
    if (!value->is_object()) complain(key, "is not an object");
    return value->is_object() ? value->get_object() : kNone;
  }
  void complain(std::string_view key, std::string_view what) {
    if (!problem_.empty()) return;
    problem_ = fmt::format("{} {}", key, what);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json::value* find(std::string_view key) {
    const json::value* value = object_ == nullptr ? nullptr : object_->if_contains(key);
    if (value == nullptr) complain(key, "is missing");
    return value;
  }
  const json::object* object_;
  std::string problem_;
};

OptionSet optionsFromJson(OptionTable table, const json::object& object, Members& members) {
  OptionSet set = OptionSet::defaults(table);
  for (const Option& option : table) {
    const json::value* values = object.if_contains(option.name);
    if (values == nullptr) continue;
    std::vector<OptionValue> parsed;
    if (const json::array* list = values->if_array(); list != nullptr) {
      for (const json::value& text : *list) {
        const json::string* written = text.if_string();
        auto value = parseOption(option, written == nullptr ? "" : std::string_view(*written));
        if (!value) {
          members.complain(option.name, value.error().what());
          return set;
        }
        parsed.push_back(*std::move(value));
      }
    }
    set.set(option.name, std::move(parsed));
  }
  return set;
}

MemoryName memoryFromJson(Members& members, std::string_view key) {
  auto memory = parseMemoryName(members.text(key));
  if (memory) return *std::move(memory);
  members.complain(key, memory.error().what());
  return {};
}

Watching watchingNamed(std::string_view text) {
  return text == "full" ? Watching::kAll : text == "free" ? Watching::kFree : Watching::kNone;
}

Verify verifyNamed(std::string_view text) {
  return text == "all" ? Verify::kAll : text == "sample" ? Verify::kSample : Verify::kOff;
}

}  // namespace

Result<Case> caseFromJson(const json::value& value, const Registry& registry) {
  Members members(value);
  Case c;
  c.id = members.text("id");
  c.label = members.text("label");
  c.transport = members.text("transport");
  if (const TransportEntry* entry = registry.find(c.transport); entry != nullptr) {
    c.options = optionsFromJson(entry->options, members.object("options"), members);
  } else {
    members.complain("transport", "is not known here");
  }
  c.library = members.text("library");
  for (const auto& [key, text] : members.object("env")) {
    if (text.is_string()) c.env.emplace_back(key, text.get_string());
  }
  c.source = memoryFromJson(members, "source");
  c.destination = memoryFromJson(members, "destination");
  c.path = members.text("path");
  c.staging = optionsFromJson(registry.staging().options, members.object("staging"), members);
  c.cudaMemory = members.text("cuda_memory");
  c.drive = members.text("drive") == name(Drive::kStream) ? Drive::kStream : Drive::kHost;
  c.pattern = members.text("pattern");
  if (findPattern(c.pattern) == nullptr) members.complain("pattern", "is not known here");
  c.bytes = members.number<std::uint64_t>("bytes");
  c.window = members.number<std::uint32_t>("window");
  c.batch = members.number<std::uint32_t>("batch");
  c.direction = members.text("direction") == "bi" ? Direction::kBi : Direction::kUni;
  c.beside = members.number<std::uint32_t>("beside");
  c.pairNumber = members.number<std::uint32_t>("pair_number");
  c.warmup = {members.number<std::uint64_t>("warmup_messages"),
              members.number<std::int64_t>("warmup_min_ns"),
              members.number<std::int64_t>("warmup_max_ns")};
  c.stop = {members.maybe<std::uint64_t>("stop_iterations"),
            members.number<double>("stop_precision"), members.number<std::int64_t>("stop_min_ns"),
            members.number<std::int64_t>("stop_max_ns")};
  c.verify = verifyNamed(members.text("verify"));
  c.watching = watchingNamed(members.text("watching"));
  c.timeoutNs = members.number<std::int64_t>("timeout_ns");
  c.rawSamples = members.number<std::uint64_t>("raw_samples");
  c.initiatorCpu = members.maybe<int>("initiator_cpu");
  c.responderCpu = members.maybe<int>("responder_cpu");
  c.cpusGiven = members.flag("cpus_given");
  if (c.bytes == 0 || c.window == 0 || c.batch == 0) members.complain("bytes", "is zero");
  if (members.problem().empty()) return c;
  return Error{.code = ErrorCode::kProtocol,
               .tried = "understand the case that the conductor sent",
               .nativeText = members.problem()};
}

std::string digest(const Case& testCase, const Registry& registry) {
  return fnv1a(writeJson(toJson(testCase, registry)));
}

}  // namespace gdrbench
