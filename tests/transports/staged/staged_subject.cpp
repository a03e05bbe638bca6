// SPDX-License-Identifier: Apache-2.0
#include "tests/transports/staged/staged_subject.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_buffer.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/faults/faulty_transport.h"
#include "transports/staged/staged_transport.h"

namespace gdrbench::staged {
namespace {

const bool kFakeInstalled = (cuda::fake::install({}), true);

constexpr Option kUnderneath[] = {
    {.name = "over", .fallback = "loopback", .help = "what moves the bytes"},
    {.name = "inner", .fallback = "", .help = "its options, name=value,..."},
};

OptionTable allOptions() {
  static const std::vector<Option> all = [] {
    std::vector<Option> joined(std::begin(kUnderneath), std::end(kUnderneath));
    joined.insert(joined.end(), options().begin(), options().end());
    return joined;
  }();
  return all;
}

const Registry& underneath() {
  static const Registry registry = faulty::withFaulty();
  return registry;
}

const TransportEntry& entryOf(const OptionSet& set) {
  const TransportEntry* entry = underneath().find(set.text("over"));
  REQUIRE(entry != nullptr);
  return *entry;
}

void setOption(OptionSet& set, OptionTable table, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  for (const Option& option : table) {
    if (option.name != assignment.substr(0, equals)) continue;
    set.set(option.name, {*parseOption(option, assignment.substr(equals + 1))});
  }
}

OptionSet innerOptions(const OptionSet& outer) {
  const OptionTable table = entryOf(outer).options;
  OptionSet set = OptionSet::defaults(table);
  std::string_view rest = outer.text("inner");
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    setOption(set, table, rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return set;
}

OptionSet stagingOptions(const OptionSet& outer) {
  OptionSet set = OptionSet::defaults(options());
  for (const Option& option : options()) set.set(option.name, outer.list(option.name));
  return set;
}

class StagedByName final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "staged"; }
  Result<std::vector<Device>> probe() override { return std::vector<Device>{}; }
  [[nodiscard]] Capabilities capabilities(const OptionSet& set) const override {
    return staged::capabilities(entryOf(set).capabilities(innerOptions(set)));
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    auto inner = underneath().make(request.options.text("over"));
    if (!inner) return inner.error();
    staged_ = makeStaged(*std::move(inner), stagingOptions(request.options));
    OpenRequest below = request;
    below.options = innerOptions(request.options);
    return staged_->open(below);
  }

 private:
  std::unique_ptr<Transport> staged_;
};

Capabilities capabilitiesByName(const OptionSet& set) {
  return staged::capabilities(entryOf(set).capabilities(innerOptions(set)));
}

const Registry& stagedRegistry() {
  static const Registry registry({TransportEntry{
      .name = "staged",
      .summary = "for tests",
      .options = allOptions(),
      .capabilities = capabilitiesByName,
      .make = []() -> std::unique_ptr<Transport> { return std::make_unique<StagedByName>(); }}});
  return registry;
}

}  // namespace

conformance::Subject subject(Options options) {
  return {.transport = "staged",
          .options = std::move(options),
          .noticesPeerLoss = true,
          .registry = &stagedRegistry(),
          .memory = {MemoryKind::kCuda, "0"},
          .peerMemory = {MemoryKind::kCuda, "1"},
          .allocate = cuda::fake::allocateBuffer,
          .view = cuda::fake::hostView};
}

conformance::Subject overLibfabric(const std::string& provider, const std::string& op) {
  conformance::Subject made =
      subject({{"over", "libfabric"}, {"inner", "provider=" + provider + ",op=" + op}});
  made.noticesPeerLoss = false;
  made.mayBeAbsent = true;
  return made;
}

}  // namespace gdrbench::staged
