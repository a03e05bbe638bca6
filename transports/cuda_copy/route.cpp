// SPDX-License-Identifier: Apache-2.0
#include "transports/cuda_copy/route.h"

#include <fmt/format.h>
#include <unistd.h>

namespace gdrbench::cuda_copy {
namespace {

Ends endsOf(const RouteRequest& request) {
  if (request.source.kind() != MemoryKind::kCuda || request.peer.kind != MemoryKind::kCuda) {
    return Ends::kGpuAndHost;
  }
  return request.device->identity().pci == request.peer.pci ? Ends::kOneGpu : Ends::kTwoGpus;
}

/// The other GPU, by the address that means the same in every process.
Result<std::shared_ptr<const cuda::Device>> openPeer(const Address& peer) {
  auto device = cuda::openDevice(peer.pci);
  if (!device && device.error().code == ErrorCode::kNotFound) {
    device.error().next = "let CUDA_VISIBLE_DEVICES show both GPUs to both workers";
  }
  return device;
}

Status useEachOther(const cuda::Device& device, const cuda::Device& peer) {
  Status enabled = device.enablePeer(peer);
  if (!enabled && enabled.error().code == ErrorCode::kUnsupported) {
    enabled.error().next =
        "set peer_access: false, so that the driver takes the bytes through host memory";
  }
  return enabled;
}

Status joinGpus(Route& route, const RouteRequest& request) {
  auto peer = openPeer(request.peer);
  if (!peer) return peer.error();
  route.peer = *std::move(peer);
  if (request.peerAccess) {
    route.peerAccess = "enabled";
    return useEachOther(*route.device, *route.peer);
  }
  route.peerAccess = "off: the driver takes the bytes through host memory";
  route.sourceContext = route.device->context();
  route.targetContext = route.peer->context();
  return Done{};
}

/// With peer access the buffer is mapped for the GPU that writes to it; without, only its owner may
/// map it.
Status mapTarget(Route& route, const RouteRequest& request) {
  if (request.peerInThisProcess) {
    if (request.peer.pid == getpid()) return Done{};
    return Error{
        .code = ErrorCode::kMismatch,
        .tried = "use the peer's target buffer by its address: the peer is another process"};
  }
  auto import =
      Import::open(route.targetContext == nullptr ? route.device : route.peer, request.peer);
  if (!import) return import.error();
  route.import = *std::move(import);
  route.target = route.import->target();
  return Done{};
}

RouteFacts factsOf(const Route& route, const RouteRequest& request) {
  const bool fromGpu = request.source.kind() == MemoryKind::kCuda;
  return {.ends = endsOf(request),
          .peerAccess = request.peerAccess,
          .sourceOnGpu = fromGpu,
          .targetOnGpu = request.peer.kind == MemoryKind::kCuda,
          .pinned = fromGpu ? request.peer.pinned : request.source.pinned(),
          .text = route.text,
          .mapped = route.import ? "CUDA IPC" : "nothing, in one process"};
}

}  // namespace

std::string placeText(MemoryKind kind, std::string_view pci, bool pinned) {
  if (kind == MemoryKind::kCuda) return fmt::format("GPU {}", pci);
  return pinned ? "pinned host memory" : "pageable host memory";
}

Result<Route> routeTo(const RouteRequest& request) {
  const Region& source = request.source;
  const Address& peer = request.peer;
  Route route{.device = request.device, .source = source.pointer(), .target = peer.target};
  route.text = fmt::format(
      "{} to {}", placeText(source.kind(), request.device->identity().pci, source.pinned()),
      placeText(peer.kind, peer.pci, peer.pinned));
  switch (endsOf(request)) {
    case Ends::kTwoGpus:
      if (Status joined = joinGpus(route, request); !joined) return joined.error();
      break;
    case Ends::kOneGpu:
      route.peerAccess = "same GPU";
      break;
    case Ends::kGpuAndHost:
      route.peerAccess = "none: one side is host memory";
      break;
  }
  if (Status mapped = mapTarget(route, request); !mapped) return mapped.error();
  if (Status current = route.device->makeCurrent(); !current) return current.error();
  route.facts = factsOf(route, request);
  return route;
}

}  // namespace gdrbench::cuda_copy
