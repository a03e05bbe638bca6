// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/staged_endpoint.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "harness/core/units.h"
#include "harness/memory/host_space.h"
#include "transports/staged/path_evidence.h"
#include "transports/staged/staged_lane.h"

namespace gdrbench::staged {
namespace {

/// Known to the GPU only: no transport underneath sees it.
class DeviceRegion final : public MemoryRegion {
 public:
  explicit DeviceRegion(const Buffer& buffer)
      : pointer_(cuda::pointer(buffer.data())), bytes_(buffer.bytes()) {}
  [[nodiscard]] cuda::DevicePointer pointer() const noexcept { return pointer_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  cuda::DevicePointer pointer_;
  std::uint64_t bytes_;
};

/// What each side says to the other; the addresses of the two lanes follow.
struct AddressHeader {
  static constexpr std::uint32_t kMagic = 0x73726467;  // "gdrs"
  std::uint32_t magic = kMagic;
  std::uint32_t dataBytes = 0;
  std::uint64_t chunk = 0, stride = 0, slots = 0;
};
static_assert(std::has_unique_object_representations_v<AddressHeader>, "no padding travels");

struct PeerAddress {
  Geometry geometry;
  std::span<const std::byte> data, credits;
};

Bytes join(const Geometry& geometry, const Bytes& data, const Bytes& credits) {
  const AddressHeader header{.dataBytes = static_cast<std::uint32_t>(data.size()),
                             .chunk = geometry.chunk,
                             .stride = geometry.stride,
                             .slots = geometry.slots};
  Bytes bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes.insert(bytes.end(), data.begin(), data.end());
  bytes.insert(bytes.end(), credits.begin(), credits.end());
  return bytes;
}

Result<PeerAddress> split(std::span<const std::byte> bytes) {
  AddressHeader header{.magic = 0};
  if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != AddressHeader::kMagic || header.dataBytes > bytes.size() - sizeof(header)) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read the peer's address: it is not one of the staged path"};
  }
  const auto rest = bytes.subspan(sizeof(header));
  return PeerAddress{{header.chunk, header.stride, static_cast<std::uint32_t>(header.slots)},
                     rest.first(header.dataBytes),
                     rest.subspan(header.dataBytes)};
}

std::string text(const Geometry& geometry) {
  return fmt::format("{} slots of {} for chunks of {}", geometry.slots, formatSize(geometry.stride),
                     formatSize(geometry.chunk));
}

Status checkGeometry(const Geometry& mine, const Geometry& peers) {
  if (mine == peers) return Done{};
  return Error{.code = ErrorCode::kMismatch,
               .tried = "connect the staged path: the two sides cut messages differently",
               .nativeText = fmt::format("{} here, {} there", text(mine), text(peers)),
               .next = "give both sides the same staging options"};
}

Status checkMemory(const OpenRequest& request) {
  for (const MemoryName* memory : {&request.memory, &request.peerMemory}) {
    if (memory->kind == MemoryKind::kCuda) continue;
    return Error{
        .code = ErrorCode::kUnsupported,
        .tried = fmt::format("stage {} memory: there is no GPU to copy from or to", memory->text()),
        .next = "use cuda memory on both sides, or the direct path"};
  }
  return Done{};
}

/// Both buffers of the lane of the data; those of the credits are a page each.
Status checkRoom(const Geometry& geometry) {
  auto shortage = hostShortage(2 * geometry.layout().totalBytes(), " for the staged path");
  if (!shortage) return Done{};
  shortage->next = "use a smaller chunk or depth";
  return *std::move(shortage);
}

OpenRequest requestOf(const OpenRequest& outer, const SlotLayout& layout, std::uint32_t window) {
  OpenRequest request = outer;
  request.lane.layout = layout;
  request.lane.messageBytes = layout.stride;
  request.lane.window = window;
  request.lane.marks = 0;
  request.memory = request.peerMemory = {MemoryKind::kPinned, {}};
  return request;
}

Result<DeviceRegion*> regionOf(MemoryRegion& region, const SlotLayout& layout) {
  auto& device = static_cast<DeviceRegion&>(region);
  if (device.bytes() >= layout.totalBytes()) return &device;
  return Error{.code = ErrorCode::kInternal,
               .tried = fmt::format("use a buffer of {} bytes for slots of {} bytes in all",
                                    device.bytes(), layout.totalBytes())};
}

}  // namespace

Result<std::unique_ptr<Endpoint>> StagedEndpoint::open(Transport& inner, const OpenRequest& request,
                                                       const OptionSet& options) {
  if (Status good = checkMemory(request); !good) return good.error();
  if (Status good = checkRoom(Geometry::of(options, request.lane)); !good) return good.error();
  auto device = cuda::openDevice(request.memory.device);
  if (!device) return device.error();
  std::unique_ptr<StagedEndpoint> endpoint(
      new StagedEndpoint(request, options, *std::move(device)));
  if (Status opened = endpoint->openWires(inner, request); !opened) {
    return opened.error();
  }
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

Status StagedEndpoint::openWires(Transport& inner, const OpenRequest& request) {
  auto data = Wire::open(inner, requestOf(request, geometry_.layout(), geometry_.slots), device_);
  if (!data) return data.error();
  OpenRequest forCredits = requestOf(request, Credits::kLayout, Credits::window(geometry_.slots));
  forCredits.namePrefix += "credits-";
  auto credits = Wire::open(inner, forCredits, device_);
  if (!credits) {
    Error error = std::move(credits).error();
    error.tried += ", for the credits of the staged path";
    if (error.next.empty()) {
      error.next =
          "the staged path opens its transport twice: fix no port, nor anything else that "
          "can be had only once";
    }
    return error;
  }
  data_ = *std::move(data);
  credits_ = *std::move(credits);
  return Done{};
}

Result<std::unique_ptr<MemoryRegion>> StagedEndpoint::registerMemory(const Buffer& buffer) {
  if (buffer.memory().kind != MemoryKind::kCuda) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = fmt::format("stage a buffer in {} memory", buffer.memory().text())};
  }
  return std::unique_ptr<MemoryRegion>(std::make_unique<DeviceRegion>(buffer));
}

Result<Bytes> StagedEndpoint::address(const MemoryRegion&, const MemoryRegion&) {
  Result<Bytes> data = data_->address();
  if (!data) return data;
  Result<Bytes> credits = credits_->address();
  if (!credits) return credits;
  return join(geometry_, *data, *credits);
}

Result<std::unique_ptr<Lane>> StagedEndpoint::connect(std::span<const std::byte> peerAddress,
                                                      MemoryRegion& source, MemoryRegion& target,
                                                      Deadline deadline) {
  Result<PeerAddress> peer = split(peerAddress);
  if (!peer) return peer.error();
  if (Status same = checkGeometry(geometry_, peer->geometry); !same) return same.error();
  Result<std::unique_ptr<Lane>> data = data_->connect(peer->data, deadline);
  if (!data) return data;
  Result<std::unique_ptr<Lane>> credits = credits_->connect(peer->credits, deadline);
  if (!credits) return credits;
  return makeLane(source, target, *std::move(data), *std::move(credits));
}

Result<std::unique_ptr<Lane>> StagedEndpoint::makeLane(MemoryRegion& source, MemoryRegion& target,
                                                       std::unique_ptr<Lane> data,
                                                       std::unique_ptr<Lane> credits) {
  Result<DeviceRegion*> from = regionOf(source, spec_.layout);
  if (!from) return from.error();
  Result<DeviceRegion*> to = regionOf(target, spec_.layout);
  if (!to) return to.error();
  Result<CopyStream> reading = CopyStream::make(device_, patience());
  if (!reading) return reading.error();
  Result<CopyStream> writing = CopyStream::make(device_, patience());
  if (!writing) return writing.error();
  follows_ = reading->follows();
  if (writing->follows() != follows_) {
    follows_ = fmt::format("out: {}; in: {}", follows_, writing->follows());
  }
  Outbound out(spec_, geometry_, *std::move(reading), (*from)->pointer(), data_->source());
  Inbound in(spec_, geometry_, *std::move(writing), (*to)->pointer(), data_->target());
  std::unique_ptr<Lane> lane =
      std::make_unique<StagedLane>(spec_, device_, std::move(out), std::move(in), std::move(data),
                                   Credits(std::move(credits), geometry_.slots));
  return lane;
}

/// With one message outstanding there is nothing else to do while a small one is copied.
std::uint64_t StagedEndpoint::patience() const {
  if (spec_.window != 1) return 0;
  return static_cast<std::uint64_t>(options_.integer("low_latency"));
}

/// Those of the wires are about host memory, and so about no path of a GPU's.
std::vector<evidence::Observation> StagedEndpoint::observations() const {
  return pathObservations(text(geometry_));
}

std::vector<Claim> StagedEndpoint::claims() const {
  std::vector<Claim> claims = data_->claims();
  claims.push_back({.key = "staging",
                    .value = fmt::format("GPU to pinned memory, wire, pinned memory to GPU; {}",
                                         text(geometry_)),
                    .mustAgree = true});
  claims.push_back(
      {.key = "staging_low_latency",
       .value = patience() == 0 ? "off" : fmt::format("up to {}", formatSize(patience())),
       .mustAgree = true});
  claims.push_back({.key = "staging_follows", .value = "copies by " + follows_});
  const int node = data_->numaNode();
  claims.push_back(
      {.key = "staging_node",
       .value = node < 0 ? "unknown" : fmt::format("pinned memory on NUMA node {}", node)});
  return claims;
}

}  // namespace gdrbench::staged
