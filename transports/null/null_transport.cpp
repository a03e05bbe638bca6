// SPDX-License-Identifier: Apache-2.0
#include "transports/null/null_transport.h"

#include "transports/message_queue.h"

namespace gdrbench::null {
namespace {

/// Everything that was submitted is an event at the next poll.
class NullLane final : public Lane {
 public:
  explicit NullLane(std::uint32_t window) : sends_(window), expects_(window) {}

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override {
    const Accepted accepted{sends_.accept(sends), expects_.accept(expects)};
    sends_.finish(accepted.sends);
    expects_.finish(accepted.expects);
    return accepted;
  }

  std::size_t poll(std::span<Event> events) noexcept override {
    const std::size_t sent = sends_.report(Event::Kind::kSent, events);
    return sent + expects_.report(Event::Kind::kArrived, events.subspan(sent));
  }

  [[nodiscard]] Error errorDetail() const override {
    return {.code = ErrorCode::kInternal, .tried = "find a failure: the null lane has none"};
  }

 private:
  MessageQueue sends_, expects_;
};

class NullEndpoint final : public Endpoint {
 public:
  explicit NullEndpoint(std::uint32_t window) : window_(window) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer&) override {
    return std::make_unique<MemoryRegion>();
  }
  Result<Bytes> address(const MemoryRegion&, const MemoryRegion&) override { return Bytes{}; }
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte>, MemoryRegion&, MemoryRegion&,
                                        Deadline) override {
    std::unique_ptr<Lane> lane = std::make_unique<NullLane>(window_);
    return lane;
  }
  [[nodiscard]] std::vector<Claim> claims() const override {
    return {{.key = "medium", .value = "none", .mustAgree = true}};
  }

 private:
  std::uint32_t window_;
};

class NullTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "null"; }
  Result<std::vector<Device>> probe() override {
    return std::vector<Device>{{.name = "null", .detail = "moves nothing", .problem = {}}};
  }
  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return null::capabilities(options);
  }
  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    std::unique_ptr<Endpoint> endpoint = std::make_unique<NullEndpoint>(request.lane.window);
    return endpoint;
  }
};

}  // namespace

OptionTable options() {
  return {};
}

Capabilities capabilities(const OptionSet&) {
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kCuda},
          .flow = DataFlow::kNone,
          .operation = "none"};
}

std::unique_ptr<Transport> make() {
  return std::make_unique<NullTransport>();
}

}  // namespace gdrbench::null
