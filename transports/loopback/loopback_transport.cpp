// SPDX-License-Identifier: Apache-2.0
#include "transports/loopback/loopback_transport.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "harness/core/units.h"
#include "transports/host_region.h"
#include "transports/loopback/loopback_lane.h"
#include "transports/shared_pair.h"

namespace gdrbench::loopback {
namespace {

constexpr double kKiB = 1024;

constexpr Option kOptions[] = {
    {.name = "fifo",
     .type = OptionType::kSize,
     .fallback = "1MiB",
     .min = 4 * kKiB,
     .max = 1024 * kKiB * kKiB,
     .help = "bytes of the shared ring of each direction, a power of two"},
};

class LoopbackEndpoint final : public Endpoint {
 public:
  LoopbackEndpoint(Role role, const LaneSpec& spec, std::shared_ptr<SharedPair> pair)
      : role_(role), spec_(spec), pair_(std::move(pair)) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    return registerHostMemory("loopback", buffer);
  }

  Result<Bytes> address(const MemoryRegion&, const MemoryRegion&) override {
    const PairAddress mine = pair_ ? pair_->address() : PairAddress::ofInitiator();
    Bytes bytes(sizeof(mine));
    std::memcpy(bytes.data(), &mine, sizeof(mine));
    return bytes;
  }

  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override {
    Result<HostRegion*> from = HostRegion::of(source, spec_.layout);
    if (!from) return from.error();
    Result<HostRegion*> to = HostRegion::of(target, spec_.layout);
    if (!to) return to.error();
    if (Status attached = attach(peerAddress); !attached) return attached.error();
    if (Status met = pair_->meet(deadline); !met) return met.error();
    std::unique_ptr<Lane> lane =
        std::make_unique<LoopbackLane>(pair_, spec_, (*from)->data(), (*to)->data());
    return lane;
  }

  [[nodiscard]] std::vector<Claim> claims() const override {
    std::vector<Claim> claims = {
        {.key = "medium", .value = "shared memory", .mustAgree = true},
        {.key = "copies", .value = "2: by the sender into a ring, by the receiver out of it"},
    };
    if (pair_) {
      claims.push_back({.key = "fifo", .value = formatSize(pair_->fifoBytes()), .mustAgree = true});
    }
    return claims;
  }

 private:
  Status attach(std::span<const std::byte> peerAddress) {
    PairAddress peer;
    if (peerAddress.size() == sizeof(peer)) {
      std::memcpy(&peer, peerAddress.data(), sizeof(peer));
    }
    const Role wanted = role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
    if (peerAddress.size() != sizeof(peer) || !peer.isOf(wanted)) {
      return Error{.code = ErrorCode::kProtocol,
                   .tried = fmt::format("read the {}'s address: it is not one of a loopback {}",
                                        name(wanted), name(wanted))};
    }
    if (pair_) return Done{};
    Result<std::shared_ptr<SharedPair>> pair = SharedPair::attach("loopback", peer);
    if (!pair) return pair.error();
    pair_ = *std::move(pair);
    return Done{};
  }

  Role role_;
  LaneSpec spec_;
  std::shared_ptr<SharedPair> pair_;  // the responder's from the start, the initiator's at connect
};

class LoopbackTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "loopback"; }

  Result<std::vector<Device>> probe() override {
    Result<std::shared_ptr<SharedPair>> pair = SharedPair::create("loopback", 1u << 16);
    if (!pair) return pair.error();
    return std::vector<Device>{
        {.name = "shared memory", .detail = "memfd, by CPU copies", .problem = {}}};
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return loopback::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    if (!request.lane.peerOnThisHost) {
      return Error{.code = ErrorCode::kUnsupported,
                   .tried = "use loopback between two hosts: it is shared memory",
                   .next = "use tcp, or run both sides on one host"};
    }
    std::shared_ptr<SharedPair> mine;
    if (request.role == Role::kResponder) {
      const auto fifo = static_cast<std::uint64_t>(request.options.integer("fifo"));
      Result<std::shared_ptr<SharedPair>> pair = SharedPair::create("loopback", fifo);
      if (!pair) return pair.error();
      mine = *std::move(pair);
    }
    std::unique_ptr<Endpoint> endpoint =
        std::make_unique<LoopbackEndpoint>(request.role, request.lane, std::move(mine));
    return endpoint;
  }
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const OptionSet&) {
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned},
          .flow = DataFlow::kPush,
          .operation = "copy"};
}

Status validate(const OptionSet& options) {
  const auto fifo = static_cast<std::uint64_t>(options.integer("fifo"));
  if (std::has_single_bit(fifo)) return Done{};
  return Error{.code = ErrorCode::kConfig,
               .tried = fmt::format("fifo: {} is not a power of two; the nearest are {} and {}",
                                    sizeLiteral(fifo), sizeLiteral(std::bit_floor(fifo)),
                                    sizeLiteral(std::bit_ceil(fifo)))};
}

std::unique_ptr<Transport> make() {
  return std::make_unique<LoopbackTransport>();
}

}  // namespace gdrbench::loopback
