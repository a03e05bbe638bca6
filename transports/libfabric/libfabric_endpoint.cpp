// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/libfabric_endpoint.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "harness/core/units.h"
#include "harness/cuda/allocation.h"

namespace gdrbench::libfabric {
namespace {

/// What travels to the peer, followed by the endpoint's name.
struct AddressHeader {
  static constexpr std::uint32_t kVersion = 2;
  std::uint32_t version = kVersion;
  std::uint32_t nameBytes = 0;
  std::uint64_t target = 0, targetKey = 0;
  std::uint64_t source = 0, sourceKey = 0;
  /// SideFacts, but for the keys. -1: not known.
  std::int8_t onGpu = 0, peerToPeerRequired = 0, emulatesWrite = -1, emulatesRead = -1;
  std::uint32_t reserved = 0;
};

void tell(AddressHeader& header, const SideFacts& facts) {
  const auto number = [](std::optional<bool> value) {
    return static_cast<std::int8_t>(value ? (*value ? 1 : 0) : -1);
  };
  header.onGpu = facts.onGpu ? 1 : 0;
  header.peerToPeerRequired = static_cast<std::int8_t>(facts.peerToPeerRequired);
  header.emulatesWrite = number(facts.emulatesWrite);
  header.emulatesRead = number(facts.emulatesRead);
}

SideFacts toldBy(const AddressHeader& header) {
  const auto flag = [](std::int8_t value) {
    return value < 0 ? std::nullopt : std::optional(value != 0);
  };
  const bool accepted = header.peerToPeerRequired == static_cast<std::int8_t>(Answer::kAccepted);
  return {.onGpu = header.onGpu != 0,
          .sourceKey = header.sourceKey,
          .targetKey = header.targetKey,
          .peerToPeerRequired = accepted ? Answer::kAccepted : Answer::kSilent,
          .emulatesWrite = flag(header.emulatesWrite),
          .emulatesRead = flag(header.emulatesRead)};
}

/// Endpoints of this process, where an address is a name. shm knows them, too, and takes a path of
/// its own for them, with two faults to keep away from:
///   - of 1.17: it never forgets one that is closed, and inserting its address reads memory that is
///     no longer mapped
///   - of 2.5 and 2.6: who finds the peer in its own process does not note where its region lies,
///     unless the peer asks for a connection, too. What the peer sends by reference, as it does
///     all large messages, is then looked for at an offset from nothing. So both speak first.
class OwnNames {
 public:
  enum class State { kOthers, kOpen, kClosed };
  static void set(const std::string& name, State state) {
    const std::lock_guard lock(mutex());
    names()[name] = state;
  }
  static State of(const std::string& name) {
    const std::lock_guard lock(mutex());
    const auto found = names().find(name);
    return found == names().end() ? State::kOthers : found->second;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::map<std::string, State>& names() {
    static std::map<std::string, State> all;
    return all;
  }
};

Op opOf(const std::string& text) {
  return text == "write" ? Op::kWrite : text == "send" ? Op::kSend : Op::kRead;
}

std::string textOf(fid_av* av, const void* address) {
  std::array<char, 256> text{};
  std::size_t length = text.size();
  if (fi_av_straddr(av, address, text.data(), &length) == nullptr) return "?";
  return std::string(text.data());
}

std::string libraryPath() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&fi_getinfo), &where) == 0 || where.dli_fname == nullptr) {
    return "unknown";
  }
  return where.dli_fname;
}

std::string flagsText(const void* data, fi_type type) {
  std::array<char, 1024> text{};
  const char* written = fi_tostr_r(text.data(), text.size(), data, type);
  if (written == nullptr) return "?";
  return *written == '\0' ? "none" : std::string(written);
}

std::string memlock() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : formatSize(limit.rlim_cur);
}

Error registrationError(const Buffer& buffer, std::string_view how, std::string_view provider,
                        long code) {
  const bool limited = code == -FI_ENOMEM || code == -FI_EAGAIN;
  return fabricError(
      fmt::format("register {} of {} memory ({}) with provider {}", formatSize(buffer.bytes()),
                  buffer.memory().text(), how, provider),
      code, limited ? fmt::format("the locked-memory limit (ulimit -l) is {}", memlock()) : "",
      limited ? ErrorCode::kNoMemory : ErrorCode::kTransport);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> LibfabricEndpoint::open(const OpenRequest& request) {
  const KeepSignalHandlers keep;
  Result<Info> info = select(Wanted::from(request));
  if (!info) return std::move(info).error();
  Result<std::unique_ptr<Objects>> objects = openObjects(*std::move(info));
  if (!objects) return std::move(objects).error();
  std::unique_ptr<LibfabricEndpoint> endpoint(new LibfabricEndpoint(request, *std::move(objects)));
  if (Status good = endpoint->checkLimits(); !good) return std::move(good).error();
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

LibfabricEndpoint::LibfabricEndpoint(const OpenRequest& request, std::unique_ptr<Objects> objects)
    : request_(request), op_(opOf(request.options.text("op"))), objects_(std::move(objects)) {
  // Injecting copies with the CPU: never from memory that the CPU cannot read. It counts as sent at
  // once, which is not what a named completion level promises.
  if (request.options.flag("inject") && request.memory.kind != MemoryKind::kCuda &&
      request.options.text("delivery") == "default") {
    injectBytes_ = objects_->info->tx_attr->inject_size;
  }
}

LibfabricEndpoint::~LibfabricEndpoint() {
  if (isNamed()) OwnNames::set(ownName_, OwnNames::State::kClosed);
}

Status LibfabricEndpoint::checkLimits() const {
  const fi_info& info = *objects_->info;
  const auto cannot = [&](std::string what) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = fmt::format("use provider {}", info.fabric_attr->prov_name),
                 .nativeText = std::move(what)};
  };
  if (request_.lane.messageBytes > info.ep_attr->max_msg_size) {
    return cannot(fmt::format("a message of {} is above its limit of {}",
                              formatSize(request_.lane.messageBytes),
                              formatSize(info.ep_attr->max_msg_size)));
  }
  if (op_ == Op::kWrite && info.domain_attr->cq_data_size < sizeof(Ticket)) {
    return cannot(fmt::format("its CQ data has {} bytes; op 'write' needs 4",
                              info.domain_attr->cq_data_size));
  }
  const bool ordered = (info.tx_attr->msg_order & FI_ORDER_SAS) != 0;
  if (op_ != Op::kWrite && !ordered) return cannot("it does not keep the order of sends");
  const std::uint64_t delivery = deliveryFlag(request_.options.text("delivery"));
  if ((info.tx_attr->op_flags & delivery) != delivery) {
    return cannot(fmt::format("it did not take delivery '{}'", request_.options.text("delivery")));
  }
  return Done{};
}

bool LibfabricEndpoint::isNamed() const {
  return objects_->info->addr_format == FI_ADDR_STR;
}

bool LibfabricEndpoint::usesAddresses() const {
  return (objects_->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
}

Result<std::unique_ptr<MemoryRegion>> LibfabricEndpoint::registerMemory(const Buffer& buffer) {
  auto mr = buffer.memory().kind == MemoryKind::kCuda ? registerCuda(buffer) : registerHost(buffer);
  if (!mr) return std::move(mr).error();
  if ((objects_->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    int code = fi_mr_bind(mr->get(), &objects_->ep->fid, 0);
    if (code == 0) code = fi_mr_enable(mr->get());
    if (code != 0) return fabricError("bind a memory region to the endpoint", code);
  }
  return std::unique_ptr<MemoryRegion>(
      std::make_unique<Region>(*std::move(mr), buffer.data(), buffer.bytes()));
}

Result<Fid<fid_mr>> LibfabricEndpoint::registerRange(const Buffer& buffer, fi_mr_attr& attr,
                                                     std::uint64_t flags) {
  attr.iov_count = 1;
  attr.access = FI_SEND | FI_RECV | FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ;
  attr.requested_key = nextKey_++;
  fid_mr* raw = nullptr;
  if (const int code = fi_mr_regattr(objects_->domain.get(), &attr, flags, &raw); code != 0) {
    return registrationError(buffer, registration_, objects_->info->fabric_attr->prov_name, code);
  }
  return Fid<fid_mr>(raw);
}

Result<Fid<fid_mr>> LibfabricEndpoint::registerHost(const Buffer& buffer) {
  iovec range{buffer.data(), buffer.bytes()};
  fi_mr_attr attr{};
  attr.mr_iov = &range;
  attr.iface = FI_HMEM_SYSTEM;
  registration_ = "host";
  return registerRange(buffer, attr, 0);
}

/// A provider that offers FI_HMEM may still refuse the memory: what counts is this call.
Result<Fid<fid_mr>> LibfabricEndpoint::registerCuda(const Buffer& buffer) {
  auto device = cuda::openDevice(buffer.memory().device);
  if (!device) return std::move(device).error();
  device_ = *std::move(device);
  fi_mr_attr attr{};
  attr.iface = FI_HMEM_CUDA;
  attr.device.cuda = device_->identity().ordinal;
  if (request_.options.text("registration") == "hmem") {
    iovec range{buffer.data(), buffer.bytes()};
    attr.mr_iov = &range;
    registration_ = "FI_HMEM_CUDA, by address";
    // Never memory that the CPU shares: only then does shm open it in the other process (CUDA IPC).
    return registerRange(buffer, attr, FI_HMEM_DEVICE_ONLY);
  }
#ifdef FI_MR_DMABUF
  if (FI_VERSION_GE(apiVersion(), FI_VERSION(1, 20))) {
    auto exported =
        cuda::DmaBuf::exportFrom(*device_, cuda::pointer(buffer.data()), buffer.bytes(), false);
    if (!exported) return std::move(exported).error();
    fi_mr_dmabuf range{};
    range.fd = exported->fd();
    range.len = buffer.bytes();
    range.base_addr = buffer.data();
    attr.dmabuf = &range;
    registration_ = "FI_MR_DMABUF, " + exported->describe();
    return registerRange(buffer, attr, FI_MR_DMABUF | FI_HMEM_DEVICE_ONLY);
  }
#endif
  return Error{
      .code = ErrorCode::kUnsupported,
      .tried = "register GPU memory as a dma-buf",
      .nativeText = fmt::format("FI_MR_DMABUF needs libfabric 1.20; this is {}, built with "
                                "headers of {}",
                                versionText(fi_version()),
                                versionText(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)))};
}

Result<Bytes> LibfabricEndpoint::address(const MemoryRegion& source, const MemoryRegion& target) {
  std::array<std::byte, 1024> name{};
  std::size_t length = name.size();
  if (const int code = fi_getname(&objects_->ep->fid, name.data(), &length); code != 0) {
    return fabricError("ask for the endpoint's name", code);
  }
  ownName_ = textOf(objects_->av.get(), name.data());
  if (isNamed()) OwnNames::set(ownName_, OwnNames::State::kOpen);
  const auto& from = static_cast<const Region&>(source);
  const auto& into = static_cast<const Region&>(target);
  AddressHeader header{.nameBytes = static_cast<std::uint32_t>(length),
                       .targetKey = into.key(),
                       .sourceKey = from.key()};
  mine_ = sideFacts(from.key(), into.key());
  tell(header, mine_);
  if (usesAddresses()) {
    header.target = reinterpret_cast<std::uintptr_t>(into.data());
    header.source = reinterpret_cast<std::uintptr_t>(from.data());
  }
  Bytes bytes(sizeof header + length);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, name.data(), length);
  return bytes;
}

Result<std::unique_ptr<Lane>> LibfabricEndpoint::connect(std::span<const std::byte> peerAddress,
                                                         MemoryRegion& source, MemoryRegion& target,
                                                         Deadline deadline) {
  AddressHeader header;
  if (peerAddress.size() < sizeof header) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read the peer's address",
                 .nativeText = fmt::format("it has {} bytes", peerAddress.size())};
  }
  std::memcpy(&header, peerAddress.data(), sizeof header);
  if (header.version != AddressHeader::kVersion ||
      header.nameBytes != peerAddress.size() - sizeof header) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read the peer's address",
                 .nativeText = "it is not one of this transport"};
  }
  const std::byte* name = peerAddress.data() + sizeof header;
  peerName_ = textOf(objects_->av.get(), name);
  const OwnNames::State here = OwnNames::of(peerName_);
  if (here == OwnNames::State::kClosed) {
    return Error{.code = ErrorCode::kPeerLost,
                 .tried = fmt::format("connect to {} over provider {}", peerName_,
                                      objects_->info->fabric_attr->prov_name),
                 .nativeText = "that endpoint, of this same process, is closed",
                 .next = "look at the other side's account"};
  }
  const KeepSignalHandlers keep;
  Peer peer{.target = header.target,
            .targetKey = header.targetKey,
            .source = header.source,
            .sourceKey = header.sourceKey,
            .name = peerName_};
  const int inserted = fi_av_insert(objects_->av.get(), name, 1, &peer.address, 0, nullptr);
  if (inserted != 1) {
    return fabricError(fmt::format("insert the peer's address {}", peerName_),
                       inserted < 0 ? inserted : -FI_EINVAL);
  }
  auto lane = std::make_unique<LibfabricLane>(LaneParts{.objects = *objects_,
                                                        .source = static_cast<Region&>(source),
                                                        .target = static_cast<Region&>(target),
                                                        .layout = request_.lane.layout,
                                                        .peer = std::move(peer),
                                                        .op = op_,
                                                        .injectBytes = injectBytes_,
                                                        .payload = payload_});
  const bool speaksFirst = request_.role == Role::kInitiator || here == OwnNames::State::kOpen;
  if (Status met = lane->handshake(speaksFirst, deadline); !met) return std::move(met).error();
  peers_ = toldBy(header);
  startCounting(*payload_);
  return std::unique_ptr<Lane>(std::move(lane));
}

/// Whether GPU memory was asked for, and what the endpoint says about peer-to-peer.
std::string LibfabricEndpoint::hmemText() const {
  if ((objects_->info->caps & FI_HMEM) == 0) return "not asked for";
  int p2p = 0;
  std::size_t length = sizeof p2p;
  const int code =
      fi_getopt(&objects_->ep->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &length);
  if (code != 0) return fmt::format("FI_HMEM; FI_OPT_FI_HMEM_P2P unknown ({})", fi_strerror(-code));
  constexpr std::array kNames = {"enabled", "required", "preferred", "disabled"};
  const auto index = static_cast<std::size_t>(p2p);
  return fmt::format("FI_HMEM; FI_OPT_FI_HMEM_P2P {}",
                     index < kNames.size() ? kNames[index] : std::to_string(p2p));
}

std::vector<Claim> LibfabricEndpoint::claims() const {
  const fi_info& info = *objects_->info;
  const auto text = [](const char* value) { return std::string(value == nullptr ? "?" : value); };
  std::vector<Claim> claims = {
      {"provider", text(info.fabric_attr->prov_name), true},
      {"provider_version", versionText(info.fabric_attr->prov_version), true},
      {"library",
       fmt::format("libfabric {} (headers {})", versionText(fi_version()),
                   versionText(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION))),
       true},
      {"library_path", libraryPath(), false},
      {"operation", request_.options.text("op"), true},
      {"fabric", text(info.fabric_attr->name), false},
      {"domain", text(info.domain_attr->name), false},
      {"address", ownName_, false},
      {"protocol", flagsText(&info.ep_attr->protocol, FI_TYPE_PROTOCOL), true},
      {"data_progress", flagsText(&info.domain_attr->data_progress, FI_TYPE_PROGRESS), false},
      {"threading", flagsText(&info.domain_attr->threading, FI_TYPE_THREADING), false},
      {"mr_mode", flagsText(&info.domain_attr->mr_mode, FI_TYPE_MR_MODE), false},
      {"op_flags", flagsText(&info.tx_attr->op_flags, FI_TYPE_OP_FLAGS), false},
      {"registration", registration_, false},
      {"hmem", hmemText(), false},
      {"inject_bytes", std::to_string(injectBytes_), true},
      {"tx_depth", std::to_string(info.tx_attr->size), false},
      {"rx_depth", std::to_string(info.rx_attr->size), false},
      {"max_msg_size", std::to_string(info.ep_attr->max_msg_size), false},
      {"cq_data_size", std::to_string(info.domain_attr->cq_data_size), false},
      {"registration", "host", false},
  };
  if (claims.front().value != request_.options.text("provider")) {
    claims.push_back({"provider_requested", request_.options.text("provider"), false});
  }
  return claims;
}

}  // namespace gdrbench::libfabric
