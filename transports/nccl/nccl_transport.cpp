// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/nccl_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "transports/nccl/channel_evidence.h"
#include "transports/nccl/debug_log.h"
#include "transports/nccl/nccl_lane.h"
#include "transports/nccl/options.h"

namespace gdrbench::nccl {
namespace {

using std::chrono::steady_clock;

/// One communicator for each direction, or one for both.
constexpr int kInitiatorRank = 0;

/// What travels as the address. Only the initiator's ids are used.
struct Wire {
  UniqueId ids[2];
  char pci[32];
};

class Region final : public MemoryRegion {
 public:
  explicit Region(const Buffer& buffer) : data(buffer.data()), bytes(buffer.bytes()) {}
  std::byte* data;
  std::uint64_t bytes;
};

class NcclEndpoint final : public Endpoint {
 public:
  NcclEndpoint(const Library& library, std::shared_ptr<const cuda::Device> device,
               OpenRequest request, LogFile logFile)
      : library_(library),
        device_(std::move(device)),
        request_(std::move(request)),
        logFile_(std::move(logFile)) {}

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override {
    return std::unique_ptr<MemoryRegion>(std::make_unique<Region>(buffer));
  }

  Result<Bytes> address(const MemoryRegion&, const MemoryRegion&) override {
    std::memset(&own_, 0, sizeof own_);
    device_->identity().pci.copy(own_.pci, sizeof own_.pci - 1);
    if (request_.role == Role::kInitiator) {
      for (UniqueId& id : own_.ids) {
        const Code code = library_.api.uniqueId(&id);
        if (code != kSuccess) return error(library_.api, "get a unique id", code, nullptr);
      }
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&own_);
    return Bytes(bytes, bytes + sizeof own_);
  }

  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override {
    Wire peer;
    if (Status read = readPeer(peerAddress, peer); !read) return read.error();
    if (Status current = device_->makeCurrent(); !current) return current.error();
    auto tracks = makeTracks(request_.role == Role::kInitiator ? own_ : peer, deadline);
    if (!tracks) return tracks.error();
    auto& from = static_cast<Region&>(source);
    auto& to = static_cast<Region&>(target);
    if (Status registered = registerBuffers(*tracks, from, to); !registered) {
      return registered.error();
    }
    LaneParts parts{.library = library_,
                    .device = device_,
                    .tracks = *std::move(tracks),
                    .marks = {},
                    .graph = request_.options.flag("graph"),
                    .spec = request_.lane,
                    .source = from.data,
                    .target = to.data};
    if (isStreamDriven()) {
      auto marks = cuda::Events::make(device_, request_.lane.marks, true);
      if (!marks) return marks.error();
      parts.marks.emplace(*std::move(marks));
    }
    std::unique_ptr<Lane> lane = std::make_unique<NcclLane>(std::move(parts));
    if (Status met = exchangeFirst(*lane, deadline); !met) return met.error();
    channels_ = channelsIn(logText(logFile_));
    return lane;
  }

  [[nodiscard]] std::vector<Claim> claims() const override {
    std::vector<Claim> claims = {
        {"library", library_.path, false},
        {"version", library_.version, true},
        {"declarations", "NCCL 2.18, ncclConfig_t up to 2.14", false},
        {"gpu", fmt::format("{} ({})", device_->identity().pci, device_->identity().uuid), false},
        {"communicators",
         fmt::format("{}, {}", isStreamDriven() ? "1" : "2 (one for each direction)",
                     request_.options.flag("blocking") ? "blocking" : "non-blocking"),
         true},
        {"registration",
         request_.options.text("registration") == "comm" ? "ncclCommRegister" : "none", true},
        {"ranks", request_.lane.peerInThisProcess ? "threads of one process" : "processes", true},
        {"channels", channels_.empty() ? "unknown" + reasonForNone() : channels_, false},
    };
    for (Claim& claim : configurationFiles()) claims.push_back(std::move(claim));
    return claims;
  }

  /// NCCL connects peers when they first talk: its log is complete now, and not before.
  [[nodiscard]] std::vector<evidence::Observation> observations() const override {
    const int rank = rankOf(request_.role);
    ChannelFacts facts{.rank = rank,
                       .peer = 1 - rank,
                       .library = library_.version,
                       .noLog = logFile_.missing,
                       .registrationsLogged = logsRegistrations(),
                       .fuses = {}};
    readEnvironment(facts);
    return channelObservations(parseChannelLog(logText(logFile_)), facts);
  }

 private:
  [[nodiscard]] std::string reasonForNone() const {
    return logFile_.missing.empty() ? "" : fmt::format(" ({})", logFile_.missing);
  }
  [[nodiscard]] static int rankOf(Role role) {
    return role == Role::kInitiator ? kInitiatorRank : 1 - kInitiatorRank;
  }
  [[nodiscard]] bool isStreamDriven() const { return request_.options.text("drive") == "stream"; }

  Status readPeer(std::span<const std::byte> bytes, Wire& peer) const {
    if (bytes.size() != sizeof peer) {
      return Error{.code = ErrorCode::kProtocol,
                   .tried = "read the other rank's address",
                   .nativeText = fmt::format("{} bytes instead of {}", bytes.size(), sizeof peer)};
    }
    std::memcpy(&peer, bytes.data(), sizeof peer);
    peer.pci[sizeof peer.pci - 1] = '\0';
    if (!request_.lane.peerOnThisHost || device_->identity().pci != peer.pci) return Done{};
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = fmt::format("give both ranks the same GPU ({})", peer.pci),
                 .nativeText = "NCCL takes each GPU once in a communicator",
                 .next = "name two GPUs, or see CUDA_VISIBLE_DEVICES of both sides"};
  }

  /// Outgoing first. Both ranks join the communicators in the same order.
  Result<std::vector<Track>> makeTracks(const Wire& ids, Deadline deadline) {
    const int rank = rankOf(request_.role);
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int i = 0; i < (isStreamDriven() ? 1 : 2); ++i) {
      auto communicator = Communicator::init(
          library_, device_, {ids.ids[i], rank, request_.options.flag("blocking")}, deadline);
      if (!communicator) return communicator.error();
      communicators.push_back(*std::move(communicator));
    }
    if (rank != kInitiatorRank) std::swap(communicators.front(), communicators.back());
    std::vector<Track> tracks;
    for (auto& communicator : communicators) {
      auto track = Track::make(std::move(communicator), device_);
      if (!track) return track.error();
      tracks.push_back(*std::move(track));
    }
    return tracks;
  }

  Status registerBuffers(std::vector<Track>& tracks, Region& source, Region& target) const {
    if (request_.options.text("registration") != "comm") return Done{};
    if (Status done = tracks.front().communicator().registerBuffer(source.data, source.bytes);
        !done) {
      return done;
    }
    return tracks.back().communicator().registerBuffer(target.data, target.bytes);
  }

  /// NCCL connects at the first message: here, and not in the first block.
  Status exchangeFirst(Lane& lane, Deadline deadline) const {
    const Message hello{0, request_.lane.layout.syncSlot(), 8};
    int events = 0;
    lane.submit({&hello, 1}, {&hello, 1});
    while (events < 2) {
      std::array<Event, 2> got;
      for (std::size_t i = 0, n = lane.poll(got); i < n; ++i) {
        if (got[i].kind == Event::Kind::kFailed) return lane.errorDetail();
        ++events;
      }
      if (steady_clock::now() < deadline) continue;
      return Error{.code = ErrorCode::kTimeout,
                   .tried = "exchange a first message with the other rank",
                   .nativeText = "it did not arrive by the deadline"};
    }
    return Done{};
  }

  const Library& library_;
  std::shared_ptr<const cuda::Device> device_;
  OpenRequest request_;
  LogFile logFile_;
  std::string channels_;
  Wire own_;
};

class NcclTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "nccl"; }

  Result<std::vector<Device>> probe() override {
    auto found = library();
    if (!found) return found.error();
    auto gpus = cuda::identities();
    if (!gpus) return gpus.error();
    std::vector<Device> devices;
    for (const cuda::Identity& gpu : *gpus) {
      devices.push_back({.name = fmt::format("cuda:{}", gpu.ordinal),
                         .detail = fmt::format("{}, {}; NCCL {} ({})", gpu.name, gpu.pci,
                                               (*found)->version, (*found)->path),
                         .problem = {}});
    }
    return devices;
  }

  [[nodiscard]] Result<std::optional<LibraryInfo>> vendorLibrary() override {
    auto found = library();
    if (!found) return found.error();
    return std::optional(LibraryInfo{.name = "NCCL",
                                     .version = (*found)->version,
                                     .headers = {},
                                     .path = (*found)->path,
                                     .cuda = {}});
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return nccl::capabilities(options);
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    auto device = cuda::openDevice(request.memory.device);
    if (!device) return device.error();
    LogFile log = logToFile(request.namePrefix + std::string(gdrbench::name(request.role)) + "-");
    auto found = library();
    if (!found) return found.error();
    return std::unique_ptr<Endpoint>(
        std::make_unique<NcclEndpoint>(**found, *std::move(device), request, std::move(log)));
  }
};

}  // namespace

std::unique_ptr<Transport> make() {
  return std::make_unique<NcclTransport>();
}

}  // namespace gdrbench::nccl
