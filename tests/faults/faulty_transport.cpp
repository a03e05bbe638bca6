// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/faulty_transport.h"

#include <csignal>

#include "harness/core/text.h"
#include "tests/faults/silent_stager.h"

namespace gdrbench::faulty {
namespace {

constexpr std::string_view kSides[] = {"initiator", "responder", "both"};

constexpr Option number(std::string_view name, std::string_view help) {
  return {.name = name, .type = OptionType::kInteger, .fallback = "-1", .min = -1, .help = help};
}

constexpr Option kOptions[] = {
    {.name = "over",
     .type = OptionType::kText,
     .fallback = "loopback",
     .help = "transport that moves the bytes, with its default options"},
    {.name = "side",
     .type = OptionType::kChoice,
     .fallback = "both",
     .choices = kSides,
     .help = "who does it wrong"},
    {.name = "delay",
     .type = OptionType::kDuration,
     .fallback = "0",
     .min = 0,
     .help = "added to each arrival"},
    number("delay_first", "delay only that many first arrivals; -1: all"),
    number("drop", "arrival that is never reported"),
    number("duplicate", "arrival that is reported twice"),
    {.name = "reorder",
     .type = OptionType::kBool,
     .fallback = "false",
     .help = "neighbouring arrivals change places"},
    number("flip_message", "arrival in which a byte is inverted"),
    {.name = "flip_byte",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .help = "which byte; the last one when the message is shorter"},
    number("swap", "arrival that changes bytes with the next"),
    number("stall_after", "message after which nothing goes on"),
    number("fail_call", "call of submit or poll that breaks the lane"),
    {.name = "short_submit",
     .type = OptionType::kBool,
     .fallback = "false",
     .help = "submit takes one message a call"},
    number("crash_after", "message after which the process ends by a signal"),
    {.name = "crash_signal",
     .type = OptionType::kInteger,
     .fallback = "6",
     .min = 1,
     .max = 64,
     .help = "that signal"},
};

/// Delegates everything, and keeps the address of the buffer for those faults that damage bytes.
class FaultyRegion final : public MemoryRegion {
 public:
  FaultyRegion(std::unique_ptr<MemoryRegion> inner, std::byte* data)
      : inner_(std::move(inner)), data_(data) {}
  [[nodiscard]] MemoryRegion& inner() const { return *inner_; }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::unique_ptr<MemoryRegion> inner_;
  std::byte* data_;
};

class FaultyEndpoint final : public Endpoint {
 public:
  FaultyEndpoint(std::unique_ptr<Transport> transport, std::unique_ptr<Endpoint> inner,
                 const Faults& faults, const SlotLayout& layout)
      : transport_(std::move(transport)),
        inner_(std::move(inner)),
        faults_(faults),
        layout_(layout) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    Result<std::unique_ptr<MemoryRegion>> region = inner_->registerMemory(buffer);
    if (!region) return region;
    std::unique_ptr<MemoryRegion> wrapped =
        std::make_unique<FaultyRegion>(*std::move(region), buffer.data());
    return wrapped;
  }

  Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) override {
    return inner_->address(static_cast<const FaultyRegion&>(source).inner(),
                           static_cast<const FaultyRegion&>(target).inner());
  }

  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override {
    auto& to = static_cast<FaultyRegion&>(target);
    Result<std::unique_ptr<Lane>> lane = inner_->connect(
        peerAddress, static_cast<FaultyRegion&>(source).inner(), to.inner(), deadline);
    if (!lane) return lane;
    std::unique_ptr<Lane> wrapped =
        std::make_unique<FaultyLane>(*std::move(lane), faults_, layout_, to.data());
    return wrapped;
  }

  [[nodiscard]] std::vector<Claim> claims() const override { return inner_->claims(); }

 private:
  std::unique_ptr<Transport> transport_;  // outlives the endpoint that it opened
  std::unique_ptr<Endpoint> inner_;
  Faults faults_;
  SlotLayout layout_;
};

/// The transport underneath, and its options at their defaults.
struct Inner {
  const TransportEntry* entry = nullptr;
  OptionSet options;
};

Inner innerOf(const OptionSet& options) {
  Inner inner{.entry = builtin().find(options.text("over"))};
  if (inner.entry != nullptr) inner.options = OptionSet::defaults(inner.entry->options);
  return inner;
}

class FaultyTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "faulty"; }
  Result<std::vector<Device>> probe() override {
    return std::vector<Device>{{.name = "faulty", .detail = "for tests", .problem = {}}};
  }
  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return faulty::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    Result<std::unique_ptr<Transport>> transport = builtin().make(request.options.text("over"));
    if (!transport) return transport.error();
    OpenRequest inner = request;
    inner.options = innerOf(request.options).options;
    Result<std::unique_ptr<Endpoint>> endpoint = (*transport)->open(inner);
    if (!endpoint) return endpoint;
    std::unique_ptr<Endpoint> wrapped = std::make_unique<FaultyEndpoint>(
        *std::move(transport), *std::move(endpoint), faultsOf(request.options, request.role),
        request.lane.layout);
    return wrapped;
  }
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const OptionSet& options) {
  const Inner inner = innerOf(options);
  Capabilities can =
      inner.entry == nullptr ? Capabilities{} : inner.entry->capabilities(inner.options);
  // The CPU damages bytes.
  std::erase(can.memory, MemoryKind::kCuda);
  return can;
}

Status validate(const OptionSet& options) {
  if (const Inner inner = innerOf(options); inner.entry != nullptr) {
    for (const Option& option : inner.entry->options) {
      if (!option.required) continue;
      return Error{.code = ErrorCode::kConfig,
                   .tried = "over: " + options.text("over") + " needs option " +
                            std::string(option.name) + ", and only defaults are handed on"};
    }
    return Done{};
  }
  std::vector<std::string_view> names;
  for (const TransportEntry& each : builtin().entries()) names.push_back(each.name);
  return Error{.code = ErrorCode::kConfig,
               .tried = "over: there is no transport '" + options.text("over") + "'" +
                        suggestion(options.text("over"), names)};
}

std::string label(const OptionSet& options) {
  return "faulty:" + options.text("over");
}

std::unique_ptr<Transport> make() {
  return std::make_unique<FaultyTransport>();
}

const Registry& builtin() {
  static const Registry registry = builtinTransports();
  return registry;
}

Registry withFaulty() {
  std::vector<TransportEntry> entries(builtin().entries().begin(), builtin().entries().end());
  entries.push_back({.name = "faulty",
                     .summary = "another transport, done wrong: for tests",
                     .options = options(),
                     .capabilities = capabilities,
                     .validate = validate,
                     .label = label,
                     .make = make});
  entries.push_back(silentStager());
  return Registry(std::move(entries), builtin().staging());
}

Faults faultsOf(const OptionSet& options, Role role) {
  const std::string& side = options.text("side");
  if (side != "both" && side != name(role)) return {};
  return {.delayNs = options.integer("delay"),
          .delayFirst = options.integer("delay_first"),
          .drop = options.integer("drop"),
          .duplicate = options.integer("duplicate"),
          .reorder = options.flag("reorder"),
          .flipMessage = options.integer("flip_message"),
          .flipByte = options.integer("flip_byte"),
          .swap = options.integer("swap"),
          .stallAfter = options.integer("stall_after"),
          .failCall = options.integer("fail_call"),
          .shortSubmit = options.flag("short_submit"),
          .crashAfter = options.integer("crash_after"),
          .crashSignal = static_cast<int>(options.integer("crash_signal"))};
}

}  // namespace gdrbench::faulty
