// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/cuda_copy_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "harness/core/text.h"
#include "transports/cuda_copy/cuda_copy_lane.h"

namespace gdrbench::cuda_copy {
namespace {

constexpr std::string_view kName = "cuda_copy";

constexpr Option kOptions[] = {
    {.name = "peer_access",
     .type = OptionType::kBool,
     .fallback = "true",
     .help = "two GPUs use each other's memory; false: the driver takes the bytes through host "
             "memory"},
    {.name = "processes",
     .type = OptionType::kInteger,
     .fallback = "2",
     .min = 1,
     .max = 2,
     .help = "2: the sides map each other's GPU memory by CUDA IPC; 1: they are threads of one "
             "process, which host memory on one side needs"},
};

Role other(Role role) {
  return role == Role::kInitiator ? Role::kResponder : Role::kInitiator;
}

class CudaCopyEndpoint final : public Endpoint {
 public:
  CudaCopyEndpoint(const OpenRequest& request, std::shared_ptr<const cuda::Device> device,
                   std::shared_ptr<SharedPair> pair)
      : role_(request.role),
        spec_(request.lane),
        peerKind_(request.peerMemory.kind),
        peerAccess_(request.options.flag("peer_access")),
        device_(std::move(device)),
        pair_(std::move(pair)) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    return Region::of(*device_, buffer);
  }

  Result<Bytes> address(const MemoryRegion&, const MemoryRegion& target) override {
    const auto& region = static_cast<const Region&>(target);
    Address mine{.kind = region.kind(),
                 .pair = pair_ ? pair_->address() : PairAddress::ofInitiator(),
                 .pid = static_cast<std::int32_t>(getpid()),
                 .target = region.pointer(),
                 .bytes = region.bytes(),
                 .pinned = region.pinned()};
    if (mine.kind == MemoryKind::kCuda) {
      device_->identity().pci.copy(mine.pci, sizeof mine.pci - 1);
      if (!spec_.peerInThisProcess) {
        if (Status exported = exportTo(mine, *device_); !exported) return exported.error();
      }
    }
    return toBytes(mine);
  }

  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion&,
                                        Deadline deadline) override {
    Result<Address> peer = addressFrom(peerAddress, other(role_), peerKind_, spec_.layout);
    if (!peer) return peer.error();
    if (Status met = meet(*peer, deadline); !met) return met.error();
    const auto& from = static_cast<const Region&>(source);
    Result<Route> route = routeTo({.device = device_,
                                   .source = from,
                                   .peer = *peer,
                                   .peerInThisProcess = spec_.peerInThisProcess,
                                   .peerAccess = peerAccess_});
    if (!route) return route.error();
    claim(*route, from, *peer);
    facts_ = route->facts;
    return CudaCopyLane::make(*std::move(route), spec_, pair_);
  }

  [[nodiscard]] std::vector<Claim> claims() const override { return claims_; }

  [[nodiscard]] std::vector<evidence::Observation> observations() const override {
    return facts_ ? pathObservations(*facts_) : std::vector<evidence::Observation>();
  }

 private:
  Status meet(const Address& peer, Deadline deadline) {
    if (!pair_) {
      Result<std::shared_ptr<SharedPair>> pair = SharedPair::attach(kName, peer.pair);
      if (!pair) return pair.error();
      pair_ = *std::move(pair);
    }
    return pair_->meet(deadline);
  }

  void claim(const Route& route, const Region& source, const Address& peer) {
    claims_ = {
        {.key = "medium", .value = "copies by the CUDA driver", .mustAgree = true},
        {.key = "peer access", .value = route.peerAccess, .mustAgree = true},
        {.key = "target mapped by",
         .value = route.import ? "CUDA IPC" : "nothing: both sides are one process",
         .mustAgree = true},
        {.key = "arrival",
         .value = "notified by the sender's CPU after the copy's event",
         .mustAgree = true},
        {.key = "sync messages", .value = "shared memory, tickets only", .mustAgree = true},
        {.key = "copies from",
         .value = placeText(source.kind(), device_->identity().pci, source.pinned())},
        {.key = "copies to", .value = placeText(peer.kind, peer.pci, peer.pinned)},
        {.key = "copies put on a stream of", .value = "GPU " + device_->identity().pci},
    };
  }

  Role role_;
  LaneSpec spec_;
  MemoryKind peerKind_;
  bool peerAccess_;
  std::shared_ptr<const cuda::Device> device_;
  std::shared_ptr<SharedPair> pair_;  // the responder's from the start, the initiator's at connect
  std::vector<Claim> claims_;
  std::optional<RouteFacts> facts_;  // once connected
};

/// What no driver and no GPU can do, before either is asked.
Status possible(const OpenRequest& request) {
  const bool mine = request.memory.kind == MemoryKind::kCuda;
  const bool peers = request.peerMemory.kind == MemoryKind::kCuda;
  const std::string pair =
      fmt::format("copy between {} and {}", request.memory.text(), request.peerMemory.text());
  if (!request.lane.peerOnThisHost) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = pair + " of two hosts: the CUDA driver reaches one",
                 .next = "run both sides on one host, or use a transport for networks"};
  }
  if (!mine && !peers) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = pair + ": no GPU takes part",
                 .next = "name memory of a GPU on one side, or use loopback"};
  }
  if (mine && peers) return Done{};
  if (request.lane.peerInThisProcess) return Done{};
  return Error{.code = ErrorCode::kUnsupported,
               .tried = "copy between a GPU and host memory of another process",
               .next = "set processes: 1 in this entry of transports"};
}

std::string detailOf(const cuda::Identity& gpu, std::span<const cuda::Identity> all) {
  const cuda::Api& cuda = **cuda::api();
  std::vector<std::string> reached;
  for (const cuda::Identity& each : all) {
    cuda::DeviceHandle from = 0, to = 0;
    int can = 0;
    cuda.device(&from, gpu.ordinal);
    cuda.device(&to, each.ordinal);
    cuda.canAccessPeer(&can, from, to);
    if (can != 0) reached.push_back(fmt::format("cuda:{}", each.ordinal));
  }
  return fmt::format("{}, {}; peer access to {}", gpu.name, gpu.pci,
                     reached.empty() ? "none" : listed(reached));
}

class CudaCopyTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return kName; }

  Result<std::vector<Device>> probe() override {
    Result<std::vector<cuda::Identity>> gpus = cuda::identities();
    if (!gpus) return gpus.error();
    std::vector<Device> devices;
    for (const cuda::Identity& gpu : *gpus) {
      devices.push_back({.name = fmt::format("cuda:{}", gpu.ordinal),
                         .detail = detailOf(gpu, *gpus),
                         .problem = {}});
    }
    return devices;
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return cuda_copy::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    if (Status fine = possible(request); !fine) return fine.error();
    const bool mine = request.memory.kind == MemoryKind::kCuda;
    auto device = cuda::openDevice(mine ? request.memory.device : request.peerMemory.device);
    if (!device) return device.error();
    std::shared_ptr<SharedPair> pair;
    if (request.role == Role::kResponder) {
      auto made = SharedPair::create(kName, ringBytes(request.lane));
      if (!made) return made.error();
      pair = *std::move(made);
    }
    std::unique_ptr<Endpoint> endpoint =
        std::make_unique<CudaCopyEndpoint>(request, *std::move(device), std::move(pair));
    return endpoint;
  }
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const OptionSet& options) {
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kCuda},
          .flow = DataFlow::kPush,
          .oneProcess = options.integer("processes") == 1,
          .mapsPeer = true,
          .operation = "copy"};
}

std::string label(const OptionSet& options) {
  std::string text = "cuda_copy";
  if (!options.flag("peer_access")) text += ":no-peer";
  if (options.integer("processes") == 1) text += ":1-process";
  return text;
}

std::unique_ptr<Transport> make() {
  return std::make_unique<CudaCopyTransport>();
}

}  // namespace gdrbench::cuda_copy
