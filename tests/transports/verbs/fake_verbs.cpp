// SPDX-License-Identifier: Apache-2.0
#include "tests/transports/verbs/fake_verbs.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gdrbench::verbs {

struct FakeVerbs::FakeDevice {
  DeviceSpec spec;
  ibv_device handle{};
};

struct FakeVerbs::Context : ibv_context {
  FakeVerbs* fake = nullptr;
  FakeDevice* owner = nullptr;
  int eventWriter = -1;
};

struct FakeVerbs::Cq : ibv_cq {
  explicit Cq(std::size_t room) : ibv_cq{}, ring(room) {}
  Ring<ibv_wc> ring;
};

struct FakeVerbs::Qp : ibv_qp {
  Qp(const ibv_qp_cap& wanted)
      : ibv_qp{}, cap(wanted), work(wanted.max_send_wr), receives(wanted.max_recv_wr) {}
  ibv_qp_cap cap;
  Ring<Work> work;
  Ring<Receive> receives;
  std::uint32_t peer = 0;
  std::uint8_t rnrRetries = 7;
  std::uint64_t posted = 0, freed = 0;  ///< send work requests; a slot is free when it was polled
};

FakeVerbs::FakeVerbs() = default;
FakeVerbs::~FakeVerbs() {
  CHECK(live == 0);
}

FakeVerbs::DeviceSpec& FakeVerbs::add(const std::string& name) {
  auto device = std::make_unique<FakeDevice>();
  DeviceSpec& spec = device->spec;
  spec.name = name;
  spec.limits.max_qp_wr = 16384;
  spec.limits.max_cqe = 1 << 20;
  spec.limits.max_qp_rd_atom = spec.limits.max_qp_init_rd_atom = 16;
  std::strcpy(spec.limits.fw_ver, "1.2.3");
  ibv_port_attr port{};
  port.state = IBV_PORT_ACTIVE;
  port.link_layer = IBV_LINK_LAYER_ETHERNET;
  port.active_mtu = IBV_MTU_4096;
  port.max_msg_sz = 1u << 30;
  port.gid_tbl_len = 16;
  port.active_speed = 32;
  port.active_width = 2;
  spec.ports = {port};
  spec.gids = {gid(0, IBV_GID_TYPE_ROCE_V2, "fe80::1", 2),
               gid(1, IBV_GID_TYPE_ROCE_V2, "10.0.0.1", 2)};
  devices_.push_back(std::move(device));
  return spec;
}

ibv_gid_entry FakeVerbs::gid(std::uint32_t index, std::uint32_t type, const std::string& address,
                             std::uint32_t interface) {
  ibv_gid_entry entry{};
  entry.gid_index = index;
  entry.port_num = 1;
  entry.gid_type = type;
  entry.ndev_ifindex = interface;
  const std::string mapped = address.find(':') == std::string::npos ? "::ffff:" + address : address;
  REQUIRE(inet_pton(AF_INET6, mapped.c_str(), entry.gid.raw) == 1);
  return entry;
}

void FakeVerbs::raise(ibv_event_type type, int port) {
  ibv_async_event event{};
  event.event_type = type;
  event.element.port_num = port;
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    REQUIRE(write(context->eventWriter, &event, sizeof event) == sizeof event);
  }
}

bool FakeVerbs::fails(const std::string& call) {
  const auto found = failing.find(call);
  if (found == failing.end()) return false;
  errno = found->second;
  return true;
}

template <class T, class Base>
int FakeVerbs::release(std::vector<std::unique_ptr<T>>& owners, Base* object) {
  const std::lock_guard lock(mutex_);
  --live;
  std::erase_if(owners,
                [&](const auto& owner) { return static_cast<Base*>(owner.get()) == object; });
  return 0;
}

// --- set-up ------------------------------------------------------------------------------------

ibv_device** FakeVerbs::deviceList(int* count) {
  if (fails("deviceList")) return nullptr;
  list_.clear();
  for (const auto& device : devices_) list_.push_back(&device->handle);
  list_.push_back(nullptr);
  *count = static_cast<int>(devices_.size());
  ++live;
  return list_.data();
}

int FakeVerbs::freeDeviceList(ibv_device**) {
  --live;
  return 0;
}

std::string FakeVerbs::deviceName(ibv_device* handle) {
  for (const auto& device : devices_) {
    if (&device->handle == handle) return device->spec.name;
  }
  return "?";
}

ibv_context* FakeVerbs::open(ibv_device* handle) {
  if (fails("open")) return nullptr;
  auto context = std::make_unique<Context>();
  static_cast<ibv_context&>(*context) = ibv_context{};
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  context->async_fd = ends[0];
  context->eventWriter = ends[1];
  context->fake = this;
  for (const auto& device : devices_) {
    if (&device->handle == handle) context->owner = device.get();
  }
  context->ops.post_send = postSend;
  context->ops.post_recv = postReceive;
  context->ops.poll_cq = pollCq;
  const std::lock_guard lock(mutex_);
  ++live;
  contexts_.push_back(std::move(context));
  return contexts_.back().get();
}

int FakeVerbs::close(ibv_context* context) {
  ::close(context->async_fd);
  ::close(static_cast<Context*>(context)->eventWriter);
  return release(contexts_, context);
}

int FakeVerbs::queryDevice(ibv_context* context, ibv_device_attr* attributes) {
  if (fails("queryDevice")) return errno;
  const DeviceSpec& spec = static_cast<Context*>(context)->owner->spec;
  *attributes = spec.limits;
  attributes->phys_port_cnt = static_cast<std::uint8_t>(spec.ports.size());
  return 0;
}

int FakeVerbs::queryPort(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
  if (fails("queryPort")) return errno;
  *attributes = static_cast<Context*>(context)->owner->spec.ports[port - 1u];
  return 0;
}

ssize_t FakeVerbs::queryGidTable(ibv_context* context, ibv_gid_entry* entries, std::size_t room) {
  if (fails("queryGidTable")) return -errno;
  const auto& gids = static_cast<Context*>(context)->owner->spec.gids;
  REQUIRE(gids.size() <= room);
  std::copy(gids.begin(), gids.end(), entries);
  return static_cast<ssize_t>(gids.size());
}

std::string FakeVerbs::interfaceName(std::uint32_t index) {
  return interfaces[index];
}

ibv_pd* FakeVerbs::allocatePd(ibv_context* context) {
  if (fails("allocatePd")) return nullptr;
  const std::lock_guard lock(mutex_);
  ++live;
  pds_.push_back(std::make_unique<ibv_pd>(ibv_pd{context, 0}));
  return pds_.back().get();
}

int FakeVerbs::deallocatePd(ibv_pd* pd) {
  return release(pds_, pd);
}

ibv_mr* FakeVerbs::registered(std::uint64_t address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ++live;
  mrs_.push_back(std::make_unique<ibv_mr>());
  ibv_mr& mr = *mrs_.back();
  mr.addr = reinterpret_cast<void*>(address);
  mr.length = bytes;
  mr.lkey = nextKey_++;
  mr.rkey = nextKey_++;
  return &mr;
}

ibv_mr* FakeVerbs::registerHost(ibv_pd*, void* data, std::size_t bytes, unsigned access) {
  if (fails("registerHost")) return nullptr;
  lastAccess = access;
  return registered(reinterpret_cast<std::uintptr_t>(data), bytes);
}

ibv_mr* FakeVerbs::registerDmaBuf(ibv_pd*, const DmaBufRequest& request, unsigned access) {
  lastDmaBuf = request;
  if (fails("registerDmaBuf")) return nullptr;
  lastAccess = access;
  return registered(request.iova, request.bytes);
}

int FakeVerbs::deregister(ibv_mr* mr) {
  return release(mrs_, mr);
}

ibv_cq* FakeVerbs::createCq(ibv_context* context, int entries) {
  if (fails("createCq")) return nullptr;
  const std::lock_guard lock(mutex_);
  ++live;
  cqs_.push_back(std::make_unique<Cq>(static_cast<std::size_t>(entries)));
  cqs_.back()->context = context;
  return cqs_.back().get();
}

int FakeVerbs::destroyCq(ibv_cq* cq) {
  return release(cqs_, cq);
}

ibv_qp* FakeVerbs::createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (fails("createQp")) return nullptr;
  if (attributes->cap.max_inline_data > inlineLimit) {
    errno = EINVAL;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  ++live;
  qps_.push_back(std::make_unique<Qp>(attributes->cap));
  Qp& qp = *qps_.back();
  qp.context = pd->context;
  qp.send_cq = qp.recv_cq = attributes->send_cq;
  qp.qp_num = nextQp_++;
  return &qp;
}

int FakeVerbs::modifyQp(ibv_qp* raw, ibv_qp_attr* attributes, int mask) {
  if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_RTR &&
      fails("readyToReceive")) {
    return errno;
  }
  if (fails("modifyQp")) return errno;
  const std::lock_guard lock(mutex_);
  Qp& qp = static_cast<Qp&>(*raw);
  qp.state = attributes->qp_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) qp.peer = attributes->dest_qp_num;
  if ((mask & IBV_QP_RNR_RETRY) != 0) qp.rnrRetries = attributes->rnr_retry;
  if (qp.state == IBV_QPS_RESET) {
    while (qp.work.size() != 0) qp.work.pop();
    while (qp.receives.size() != 0) qp.receives.pop();
    qp.posted = qp.freed = 0;
    qp.peer = 0;
  }
  return 0;
}

int FakeVerbs::destroyQp(ibv_qp* qp) {
  return release(qps_, qp);
}

int FakeVerbs::asyncEvent(ibv_context* context, ibv_async_event* event) {
  return read(context->async_fd, event, sizeof *event) == sizeof *event ? 0 : -1;
}

void FakeVerbs::acknowledge(ibv_async_event*) {}

// --- messages ----------------------------------------------------------------------------------

FakeVerbs::Qp* FakeVerbs::peerOf(const Qp& qp) {
  for (const auto& other : qps_) {
    if (other->qp_num != qp.peer) continue;
    const bool ready = other->state == IBV_QPS_RTR || other->state == IBV_QPS_RTS;
    return ready && other->peer == qp.qp_num ? other.get() : nullptr;
  }
  return nullptr;
}

int FakeVerbs::postSend(ibv_qp* raw, ibv_send_wr* work, ibv_send_wr** bad) {
  Qp& qp = static_cast<Qp&>(*raw);
  FakeVerbs& fake = *static_cast<Context*>(qp.context)->fake;
  const std::lock_guard lock(fake.mutex_);
  ++fake.doorbells;
  for (; work != nullptr; work = work->next) {
    *bad = work;
    if (const int code = std::exchange(fake.postSendError, 0); code != 0) return code;
    if (qp.posted - qp.freed >= qp.cap.max_send_wr) return ENOMEM;
    Work copy{*work, *work->sg_list, {}, fake.nextSend_++};
    ++fake.sends;
    if ((work->send_flags & IBV_SEND_SIGNALED) != 0) ++fake.signalled;
    if ((work->send_flags & IBV_SEND_INLINE) != 0) {
      if (work->sg_list->length > qp.cap.max_inline_data) return EINVAL;
      ++fake.inlined;
      std::memcpy(copy.inlined.data(), reinterpret_cast<void*>(work->sg_list->addr),
                  work->sg_list->length);
    }
    ++qp.posted;
    copy.number = qp.posted << 32 | (copy.number & 0xffff'ffffu);
    qp.work.push(copy);
  }
  fake.progress(qp);
  return 0;
}

int FakeVerbs::postReceive(ibv_qp* raw, ibv_recv_wr* work, ibv_recv_wr** bad) {
  Qp& qp = static_cast<Qp&>(*raw);
  FakeVerbs& fake = *static_cast<Context*>(qp.context)->fake;
  const std::lock_guard lock(fake.mutex_);
  ++fake.receiveDoorbells;
  for (; work != nullptr; work = work->next) {
    *bad = work;
    if (const int code = std::exchange(fake.postReceiveError, 0); code != 0) return code;
    if (qp.receives.full()) return ENOMEM;
    const bool blank = work->num_sge == 0;
    qp.receives.push({work->wr_id, blank ? ibv_sge{} : *work->sg_list, blank});
  }
  if (Qp* peer = fake.peerOf(qp); peer != nullptr) fake.progress(*peer);
  return 0;
}

int FakeVerbs::pollCq(ibv_cq* raw, int room, ibv_wc* completions) {
  Cq& cq = static_cast<Cq&>(*raw);
  FakeVerbs& fake = *static_cast<Context*>(cq.context)->fake;
  const std::lock_guard lock(fake.mutex_);
  int n = 0;
  for (; n < room && cq.ring.size() != 0; ++n) {
    completions[n] = cq.ring.pop();
    if (completions[n].opcode == IBV_WC_RECV) continue;
    for (const auto& qp : fake.qps_) {
      // The number of the work request travels in a field that nobody reads.
      if (qp->qp_num == completions[n].qp_num) qp->freed = completions[n].src_qp;
    }
  }
  return n;
}

void FakeVerbs::progress(Qp& qp) {
  while (qp.work.size() != 0 && qp.state == IBV_QPS_RTS) {
    const Work& work = qp.work.front();
    ibv_wc_status status = deliver(qp, work);
    const bool onRequest = badSends.contains(work.number & 0xffff'ffffu);
    const bool notReady = status == IBV_WC_RNR_RETRY_EXC_ERR && !onRequest;
    if (notReady && qp.rnrRetries == 7) return;  // until there is one
    const Work done = qp.work.pop();
    if (status != IBV_WC_SUCCESS && flushesFirst) fail(qp);
    complete(qp, done, status);
    if (status != IBV_WC_SUCCESS) fail(qp);
  }
}

ibv_wc_status FakeVerbs::deliver(Qp& qp, const Work& work) {
  const auto bad = badSends.find(work.number & 0xffff'ffffu);
  if (bad != badSends.end()) return bad->second;
  Qp* peer = peerOf(qp);
  if (peer == nullptr || dropArrivals) return IBV_WC_RETRY_EXC_ERR;
  const ibv_send_wr& request = work.request;
  if (request.opcode == IBV_WR_RDMA_READ) {
    return moveBytes(work, nullptr, request.wr.rdma.remote_addr, request.wr.rdma.rkey, false);
  }
  if (peer->receives.size() == 0) return IBV_WC_RNR_RETRY_EXC_ERR;
  const bool isInline = (request.send_flags & IBV_SEND_INLINE) != 0;
  const auto* from =
      isInline ? work.inlined.data() : reinterpret_cast<const std::byte*>(work.piece.addr);
  const Receive& receive = peer->receives.front();
  ibv_wc_status status = IBV_WC_SUCCESS;
  if (request.opcode == IBV_WR_SEND) {
    if (work.piece.length > receive.piece.length) return IBV_WC_REM_INV_REQ_ERR;
    std::memcpy(reinterpret_cast<void*>(receive.piece.addr), from, work.piece.length);
  } else {
    status = moveBytes(work, from, request.wr.rdma.remote_addr, request.wr.rdma.rkey, true);
  }
  if (status != IBV_WC_SUCCESS) return status;
  ibv_wc arrival{};
  arrival.wr_id = peer->receives.pop().id;
  arrival.opcode = IBV_WC_RECV;
  arrival.byte_len = work.piece.length + wrongLengthBy;
  arrival.imm_data = request.imm_data;
  arrival.qp_num = peer->qp_num;
  push(static_cast<Cq&>(*peer->recv_cq), arrival);
  return IBV_WC_SUCCESS;
}

ibv_wc_status FakeVerbs::moveBytes(const Work& work, const std::byte* from, std::uint64_t to,
                                   std::uint32_t key, bool isWrite) {
  for (const auto& mr : mrs_) {
    if (mr->rkey != key) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(mr->addr);
    if (to < begin || to + work.piece.length > begin + mr->length) return IBV_WC_REM_ACCESS_ERR;
    auto* remote = reinterpret_cast<std::byte*>(to);
    if (isWrite) {
      std::memcpy(remote, from, work.piece.length);
    } else {
      std::memcpy(reinterpret_cast<void*>(work.piece.addr), remote, work.piece.length);
    }
    return IBV_WC_SUCCESS;
  }
  return IBV_WC_REM_ACCESS_ERR;
}

void FakeVerbs::complete(Qp& qp, const Work& work, ibv_wc_status status) {
  const bool asked = (work.request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (!asked && status == IBV_WC_SUCCESS) return;
  ibv_wc completion{};
  completion.wr_id = work.request.wr_id;
  completion.status = status;
  completion.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x81;
  completion.opcode = IBV_WC_SEND;
  completion.qp_num = qp.qp_num;
  completion.src_qp = static_cast<std::uint32_t>(work.number >> 32);
  push(static_cast<Cq&>(*qp.send_cq), completion);
}

void FakeVerbs::push(Cq& cq, const ibv_wc& completion) {
  if (cq.ring.full()) {
    overrun = true;
    return;
  }
  cq.ring.push(completion);
}

/// Everything that waits is flushed, as the specification wants it.
void FakeVerbs::fail(Qp& qp) {
  qp.state = IBV_QPS_ERR;
  while (qp.work.size() != 0) complete(qp, qp.work.pop(), IBV_WC_WR_FLUSH_ERR);
  while (qp.receives.size() != 0) {
    ibv_wc completion{};
    completion.wr_id = qp.receives.pop().id;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    completion.opcode = IBV_WC_RECV;
    completion.qp_num = qp.qp_num;
    push(static_cast<Cq&>(*qp.recv_cq), completion);
  }
}

}  // namespace gdrbench::verbs
