// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/verbs_endpoint.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "harness/core/units.h"
#include "transports/cookie.h"

namespace gdrbench::verbs {
namespace {

Op opOf(const std::string& text) {
  return text == "write" ? Op::kWrite : text == "send" ? Op::kSend : Op::kRead;
}

std::string deviceFor(const OpenRequest& request) {
  const std::string& other = request.options.text("responder_device");
  const bool responder = request.role == Role::kResponder && !other.empty();
  return responder ? other : request.options.text("device");
}

constexpr const char* kScatterToCompletions = "MLX5_SCATTER_TO_CQE";

/// Payload that lands in the completion queue lands in host memory. mlx5 reads this when a queue
/// pair is made; the process has no other.
void keepPayloadOutOfCompletions() {
  setenv(kScatterToCompletions, "0", 1);
}

/// A PCI address, as far as the name of the memory tells it.
std::string gpuAddressOf(const MemoryName& memory) {
  const bool isAddress = memory.device.find(':') != std::string::npos;
  return memory.kind == MemoryKind::kCuda && isAddress ? memory.device : "";
}

std::uint32_t randomPacketNumber() {
  const Result<Cookie> random = randomCookie();
  if (!random) return 1;
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>((*random)[i]); };
  return byte(0) << 16 | byte(1) << 8 | byte(2);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> VerbsEndpoint::open(const Platform& platform,
                                                      const OpenRequest& request) {
  if (request.memory.kind == MemoryKind::kCuda) keepPayloadOutOfCompletions();
  Result<OpenDevice> device =
      openDevice(platform, {.device = deviceFor(request),
                            .port = static_cast<std::uint8_t>(request.options.integer("port")),
                            .gpuPciAddress = gpuAddressOf(request.memory)});
  if (!device) return std::move(device).error();
  std::unique_ptr<VerbsEndpoint> endpoint(new VerbsEndpoint(platform, request, *std::move(device)));
  for (const auto step : {&VerbsEndpoint::checkLimits, &VerbsEndpoint::chooseAddress,
                          &VerbsEndpoint::createQueues, &VerbsEndpoint::watchEvents}) {
    if (Status done = (*endpoint.*step)(); !done) return std::move(done).error();
  }
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

VerbsEndpoint::VerbsEndpoint(const Platform& platform, const OpenRequest& request,
                             OpenDevice device)
    : platform_(platform),
      request_(request),
      path_(PathOptions::from(request.options)),
      device_(std::move(device)),
      firstPacket_(randomPacketNumber()) {}

Status VerbsEndpoint::checkLimits() {
  const Port& port = device_.port;
  if (request_.lane.messageBytes > port.maxMessage) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "use " + device_.where(),
                 .nativeText = fmt::format("a message of {} is above its limit of {}",
                                           formatSize(request_.lane.messageBytes),
                                           formatSize(port.maxMessage))};
  }
  mtu_ = wantedMtu();
  if (mtu_ > port.activeMtu) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = fmt::format("use MTU {} on {}", mtu_, device_.where()),
                 .nativeText = fmt::format("its active MTU is {}", port.activeMtu),
                 .next = "RoCE: the interface's MTU must be larger by the headers (4200 for 4096)"};
  }
  Result<Depths> depths =
      planDepths(request_.options, request_.lane.window, device_.limits, device_.entry.name);
  if (!depths) return std::move(depths).error();
  depths_ = *depths;
  return Done{};
}

std::uint32_t VerbsEndpoint::wantedMtu() const {
  const std::string& mtu = request_.options.text("mtu");
  return mtu == "auto" ? device_.port.activeMtu : static_cast<std::uint32_t>(*parseInteger(mtu));
}

/// RoCE always needs a GID; InfiniBand finds its way by LID, and the GID only tells the subnet,
/// unless an entry is asked for.
Status VerbsEndpoint::chooseAddress() {
  const std::string& wanted = request_.options.text("gid_index");
  const bool ethernet = device_.port.link == LinkLayer::kEthernet;
  globalRoute_ = ethernet || wanted != "auto";
  Result<std::vector<Gid>> table =
      readGidTable(platform_.calls, device_.context.get(), device_.port.number);
  if (!table) return std::move(table).error();
  Result<GidChoice> choice =
      ethernet ? chooseGid(*table, wanted, device_.interface, device_.where())
               : chooseGid(*table, wanted == "auto" ? "0" : wanted, "", device_.where());
  if (!choice) return std::move(choice).error();
  gid_ = *std::move(choice);
  return Done{};
}

std::uint32_t VerbsEndpoint::wantedInline() const {
  if (request_.memory.kind == MemoryKind::kCuda) return 0;  // the CPU would have to read it
  return static_cast<std::uint32_t>(request_.options.integer("inline"));
}

Status VerbsEndpoint::createQueues() {
  Calls& calls = platform_.calls;
  pd_ = PdHandle(calls.allocatePd(device_.context.get()), {&calls});
  if (!pd_) return resourceError("allocate a protection domain of " + device_.entry.name, errno);
  cq_ = CqHandle(calls.createCq(device_.context.get(), static_cast<int>(depths_.completions)),
                 {&calls});
  if (!cq_) {
    return resourceError(fmt::format("create a completion queue of {} with {} entries",
                                     device_.entry.name, depths_.completions),
                         errno);
  }
  const bool exact = request_.options.given("inline");
  std::uint32_t inlineBytes = wantedInline();
  const auto pairs = static_cast<std::size_t>(request_.options.integer("qps"));
  while (queuePairs_.size() < pairs) {
    const auto create = exact || !queuePairs_.empty() ? createQueuePair : createWithBestInline;
    auto qp = create(calls, device_, pd_.get(), cq_.get(), depths_, inlineBytes);
    if (!qp) return std::move(qp).error();
    // Devices round up; what was not asked for is not used.
    inlineBytes = std::min(inlineBytes, qp->inlineBytes);
    queuePairs_.push_back(*std::move(qp));
  }
  inlineBytes_ = inlineBytes;
  return Done{};
}

Status VerbsEndpoint::watchEvents() {
  auto watch = AsyncWatch::start(platform_.calls, device_.context.get(), device_.port.number);
  if (!watch) return std::move(watch).error();
  watch_ = *std::move(watch);
  return Done{};
}

Result<std::unique_ptr<MemoryRegion>> VerbsEndpoint::registerMemory(const Buffer& buffer) {
  const OptionSet& options = request_.options;
  auto region = registerBuffer(
      platform_, pd_.get(), buffer,
      {.registration = registrationNamed(options.text("registration")),
       .mapping = options.text("mapping") == "pcie" ? Mapping::kPcie : Mapping::kDefault,
       .relaxedOrdering = options.flag("relaxed_ordering"),
       .device = device_.entry.name});
  if (!region) return std::move(region).error();
  registration_ = (*region)->registration();
  return std::unique_ptr<MemoryRegion>(*std::move(region));
}

PeerInfo VerbsEndpoint::describe(const Region& source, const Region& target) const {
  PeerInfo mine{.device = device_.entry.name,
                .link = device_.port.link,
                .lid = device_.port.lid,
                .globalRoute = globalRoute_,
                .gid = gid_->gid,
                .mtu = mtu_,
                .mtuAsked = request_.options.text("mtu") != "auto",
                .readsAsTarget = device_.limits.readsAsTarget,
                .firstPacket = firstPacket_,
                .target = target.address(),
                .source = source.address(),
                .targetKey = target.remoteKey(),
                .sourceKey = source.remoteKey()};
  for (const NewQueuePair& qp : queuePairs_) mine.queuePairs.push_back(qp.number);
  return mine;
}

Result<Bytes> VerbsEndpoint::address(const MemoryRegion& source, const MemoryRegion& target) {
  return encode(describe(static_cast<const Region&>(source), static_cast<const Region&>(target)));
}

std::unique_ptr<VerbsLane> VerbsEndpoint::makeLane(const PeerInfo& theirs, const Region& source,
                                                   const Region& target) {
  LaneParts parts{
      .op = opOf(request_.options.text("op")),
      .cq = cq_.get(),
      .memory = {.source = source.address(),
                 .target = target.address(),
                 .sourceKey = source.localKey(),
                 .targetKey = target.localKey(),
                 .peerSource = theirs.source,
                 .peerTarget = theirs.target,
                 .peerSourceKey = theirs.sourceKey,
                 .peerTargetKey = theirs.targetKey,
                 .layout = request_.lane.layout},
      .sendDepth = depths_.send,
      .receiveDepth = depths_.receive,
      .signalEvery = static_cast<std::uint32_t>(request_.options.integer("signal_every")),
      .inlineBytes = inlineBytes_,
      .oneDoorbell = request_.options.text("doorbell") == "batch",
      .watch = watch_.get(),
      .where = device_.where(),
      .peer = theirs.text(),
      .stop = [this] { stopQueuePairs(); }};
  for (const NewQueuePair& qp : queuePairs_) parts.queuePairs.push_back(qp.handle.get());
  return std::make_unique<VerbsLane>(std::move(parts));
}

void VerbsEndpoint::stopQueuePairs() {
  // What cannot be stopped goes with its handle.
  for (const NewQueuePair& qp : queuePairs_) (void)reset(platform_.calls, qp.handle.get());
}

/// Left over from an attempt that failed: a reset queue pair makes no new ones.
void VerbsEndpoint::discardCompletions() {
  std::array<ibv_wc, 32> completions;
  while (ibv_poll_cq(cq_.get(), completions.size(), completions.data()) > 0) {
  }
}

Status VerbsEndpoint::arm(const PeerInfo& theirs, VerbsLane& lane) {
  Calls& calls = platform_.calls;
  for (const NewQueuePair& qp : queuePairs_) {
    Status done = initialise(calls, qp.handle.get(), device_, path_);
    if (!done) return done;
  }
  if (Status done = lane.prepare(); !done) return done;
  for (std::size_t i = 0; i < queuePairs_.size(); ++i) {
    Status done = makeReady(calls, queuePairs_[i].handle.get(), device_, path_, *mine_, theirs, i);
    if (!done) return done;
  }
  return Done{};
}

Result<std::unique_ptr<Lane>> VerbsEndpoint::connect(std::span<const std::byte> peerAddress,
                                                     MemoryRegion& source, MemoryRegion& target,
                                                     Deadline deadline) {
  Result<PeerInfo> theirs = decodePeer(peerAddress);
  if (!theirs) return std::move(theirs).error();
  mine_ = describe(static_cast<Region&>(source), static_cast<Region&>(target));
  source_ = static_cast<Region&>(source).facts();
  target_ = static_cast<Region&>(target).facts();
  if (Status fit = checkPair(*mine_, *theirs); !fit) return std::move(fit).error();
  theirs_ = *theirs;
  while (true) {
    auto lane = makeLane(*theirs, static_cast<Region&>(source), static_cast<Region&>(target));
    if (Status armed = arm(*theirs, *lane); !armed) {
      Error error = std::move(armed).error();
      error.tried += fmt::format(" for the connection with {}", theirs->text());
      return error;
    }
    Status met = lane->hello(request_.role, deadline);
    if (met) return std::unique_ptr<Lane>(std::move(lane));
    // Packets to a queue pair that is not ready yet are dropped, and the sender gives up after a
    // while: the peer may only be late.
    if (!isSilence(met.error()) || std::chrono::steady_clock::now() > deadline) {
      return std::move(met).error();
    }
    lane.reset();
    discardCompletions();
  }
}

std::vector<evidence::Observation> VerbsEndpoint::observations() const {
  const char* scatter = std::getenv(kScatterToCompletions);
  const bool kept = scatter != nullptr && std::string_view(scatter) == "0";
  return pathObservations({.onGpu = request_.memory.kind == MemoryKind::kCuda,
                           .source = source_,
                           .target = target_,
                           .device = device_.entry.name,
                           // Software (rxe, siw) hangs on an interface and on no bus.
                           .hardware = !device_.entry.pciAddress.empty(),
                           .inlineBytes = inlineBytes_,
                           .payloadInCompletions = !kept});
}

std::vector<Claim> VerbsEndpoint::claims() const {
  const Port& port = device_.port;
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  std::vector<Claim> claims = {
      {"operation", request_.options.text("op"), true},
      {"library", "libibverbs " + libraryVersion(), true},
      {"library_path", libraryPath(), false},
      {"device", device_.entry.text(), false},
      {"device_reason", device_.reason, false},
      {"firmware", device_.limits.firmware.empty() ? "none" : device_.limits.firmware, false},
      {"port", number(port.number), false},
      {"link_layer", std::string(name(port.link)), true},
      {"link_Gbps", fmt::format("{:g}", port.gigabitsPerSecond), false},
      {"qps", number(queuePairs_.size()), true},
      {"tx_depth", number(depths_.send), false},
      {"rx_depth", number(depths_.receive), false},
      {"inline_bytes", number(inlineBytes_), true},
      {"doorbell", request_.options.text("doorbell"), true},
      {"relaxed_ordering", request_.options.flag("relaxed_ordering") ? "on" : "off", true},
      {"on_demand_paging", "off", false},
      {"registration", registration_ ? std::string(name(*registration_)) : "none", false},
  };
  if (globalRoute_) {
    claims.push_back({"gid", gid_->gid.text(), false});
    claims.push_back({"gid_reason", gid_->reason, false});
  } else {
    claims.push_back({"lid", number(port.lid), false});
  }
  if (theirs_ && mine_) claims.push_back({"mtu", number(agreedMtu(*mine_, *theirs_)), true});
  if (registration_ && *registration_ == Registration::kDmaBuf) {
    claims.push_back({"mapping", request_.options.text("mapping"), false});
  }
  return claims;
}

}  // namespace gdrbench::verbs
