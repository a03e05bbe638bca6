// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/silent_stager.h"

#include "tests/faults/faulty_transport.h"

namespace gdrbench::faulty {
namespace {

constexpr std::string_view kOver = "loopback";

constexpr Option kStagerOptions[] = {
    {.name = "lies",
     .type = OptionType::kBool,
     .fallback = "false",
     .help = "report that the library's own account says direct, beyond doubt"},
};

Capabilities stagerCapabilities(const OptionSet&) {
  const TransportEntry& over = *builtin().find(kOver);
  Capabilities can =
      builtin().staging().capabilities(over.capabilities(OptionSet::defaults(over.options)));
  can.operation = "write";
  return can;
}

class Endpoint final : public gdrbench::Endpoint {
 public:
  Endpoint(std::unique_ptr<gdrbench::Endpoint> inner, bool lies)
      : inner_(std::move(inner)), lies_(lies) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    return inner_->registerMemory(buffer);
  }
  Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) override {
    return inner_->address(source, target);
  }
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override {
    return inner_->connect(peerAddress, source, target, deadline);
  }
  [[nodiscard]] std::vector<Claim> claims() const override {
    return {{"path", "direct"}, {"registration", "dma-buf"}, {"staging", "none"}};
  }
  [[nodiscard]] std::vector<evidence::Observation> observations() const override {
    if (!lies_) return {};
    return {{.id = "silent_stager.account",
             .kind = evidence::WitnessClass::kLibrary,
             .outcome = evidence::Outcome::kDirect,
             .strength = evidence::Strength::kDecisive,
             .path = evidence::PathKind::kNvlink,
             .observed = "every channel is direct"}};
  }

 private:
  std::unique_ptr<gdrbench::Endpoint> inner_;
  bool lies_;
};

class Stager final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "silent_stager"; }
  Result<std::vector<Device>> probe() override { return std::vector<Device>{}; }
  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return faulty::capabilities(options);
  }

  Result<std::unique_ptr<gdrbench::Endpoint>> open(const OpenRequest& request) override {
    const TransportEntry& over = *builtin().find(kOver);
    const Staging& staging = builtin().staging();
    auto inner = builtin().make(kOver);
    if (!inner) return inner.error();
    staged_ = staging.make(*std::move(inner), OptionSet::defaults(staging.options));
    OpenRequest below = request;
    below.options = OptionSet::defaults(over.options);
    auto endpoint = staged_->open(below);
    if (!endpoint) return endpoint.error();
    return std::unique_ptr<gdrbench::Endpoint>(
        std::make_unique<Endpoint>(*std::move(endpoint), request.options.flag("lies")));
  }

 private:
  std::unique_ptr<Transport> staged_;
};

}  // namespace

TransportEntry silentStager() {
  return {.name = "silent_stager",
          .summary = "stages and says that it does not: for tests",
          .options = kStagerOptions,
          .capabilities = stagerCapabilities,
          .make = []() -> std::unique_ptr<Transport> { return std::make_unique<Stager>(); }};
}

}  // namespace gdrbench::faulty
