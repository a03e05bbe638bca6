// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/queue_pair.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "transports/verbs/registration.h"

namespace gdrbench::verbs {
namespace {

constexpr std::uint8_t kHops = 64;  // across routers, as IP does

ibv_mtu mtuCode(std::uint32_t bytes) {
  return static_cast<ibv_mtu>(std::countr_zero(std::clamp(bytes, 256u, 4096u)) - 7);
}

Status moved(int code, const char* state, std::string next = {}) {
  if (code == 0) return Done{};
  Error error =
      systemError(fmt::format("bring the queue pair to {}", state), code, std::move(next));
  if (error.code == ErrorCode::kSystem) error.code = ErrorCode::kTransport;
  return error;
}

ibv_ah_attr routeTo(const PeerInfo& theirs, const PeerInfo& mine, const Port& port,
                    const PathOptions& path) {
  ibv_ah_attr route{};
  route.dlid = theirs.lid;
  route.sl = path.serviceLevel;
  route.port_num = port.number;
  if (!mine.globalRoute) return route;
  route.is_global = 1;
  std::memcpy(route.grh.dgid.raw, theirs.gid.raw.data(), theirs.gid.raw.size());
  route.grh.sgid_index = static_cast<std::uint8_t>(mine.gid.index);
  route.grh.hop_limit = kHops;
  route.grh.traffic_class = path.trafficClass;
  return route;
}

std::uint8_t reads(std::uint32_t count) {
  return static_cast<std::uint8_t>(std::min(count, 128u));
}

Status readyToReceive(Calls& calls, ibv_qp* qp, const Port& port, const PathOptions& path,
                      const PeerInfo& mine, const PeerInfo& theirs, std::size_t index) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtuCode(agreedMtu(mine, theirs));
  attributes.dest_qp_num = theirs.queuePairs[index];
  attributes.rq_psn = theirs.firstPacket;
  attributes.max_dest_rd_atomic = reads(mine.readsAsTarget);
  attributes.min_rnr_timer = path.minRnrTimer;
  attributes.ah_attr = routeTo(theirs, mine, port, path);
  const int code =
      calls.modifyQp(qp, &attributes,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  return moved(code, "RTR",
               code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH
                   ? "the peer's address was not resolved: is there a route between the two "
                     "interfaces (ping)?"
                   : "");
}

Status readyToSend(Calls& calls, ibv_qp* qp, const PathOptions& path, const PeerInfo& mine,
                   std::uint32_t readsInFlight) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = path.ackTimeout;
  attributes.retry_cnt = path.retries;
  attributes.rnr_retry = path.rnrRetries;
  attributes.sq_psn = mine.firstPacket;
  attributes.max_rd_atomic = reads(readsInFlight);
  return moved(calls.modifyQp(qp, &attributes,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
               "RTS");
}

}  // namespace

PathOptions PathOptions::from(const OptionSet& options) {
  const auto byte = [&](std::string_view name) {
    return static_cast<std::uint8_t>(options.integer(name));
  };
  return {.serviceLevel = byte("service_level"),
          .trafficClass = byte("traffic_class"),
          .pkeyIndex = static_cast<std::uint16_t>(options.integer("pkey_index")),
          .ackTimeout = byte("ack_timeout"),
          .retries = byte("retry_count"),
          .rnrRetries = byte("rnr_retry"),
          .minRnrTimer = byte("min_rnr_timer")};
}

Result<NewQueuePair> createQueuePair(Calls& calls, const OpenDevice& device, ibv_pd* pd, ibv_cq* cq,
                                     const Depths& depths, std::uint32_t inlineBytes) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = depths.send,
                    .max_recv_wr = depths.receive,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = inlineBytes};
  QpHandle qp(calls.createQp(pd, &attributes), {&calls});
  if (!qp) {
    return resourceError(
        fmt::format("create a queue pair of {} ({} sends, {} receives, {} B inline)",
                    device.entry.name, depths.send, depths.receive, inlineBytes),
        errno);
  }
  const std::uint32_t number = qp->qp_num;
  return NewQueuePair{std::move(qp), number, attributes.cap.max_inline_data};
}

Result<NewQueuePair> createWithBestInline(Calls& calls, const OpenDevice& device, ibv_pd* pd,
                                          ibv_cq* cq, const Depths& depths, std::uint32_t wanted) {
  for (std::uint32_t bytes = wanted;; bytes /= 2) {
    Result<NewQueuePair> qp = createQueuePair(calls, device, pd, cq, depths, bytes);
    // Devices refuse what they do not have, and name no limit.
    if (qp || bytes == 0 || qp.error().nativeCode != EINVAL) return qp;
  }
}

Status reset(Calls& calls, ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  return moved(calls.modifyQp(qp, &attributes, IBV_QP_STATE), "RESET");
}

Status initialise(Calls& calls, ibv_qp* qp, const OpenDevice& device, const PathOptions& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = path.pkeyIndex;
  attributes.port_num = device.port.number;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return moved(calls.modifyQp(qp, &attributes,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
               "INIT", path.pkeyIndex == 0 ? "" : "is there such a pkey_index?");
}

Status makeReady(Calls& calls, ibv_qp* qp, const OpenDevice& device, const PathOptions& path,
                 const PeerInfo& mine, const PeerInfo& theirs, std::size_t index) {
  Status receives = readyToReceive(calls, qp, device.port, path, mine, theirs, index);
  if (!receives) return receives;
  const std::uint32_t readsInFlight =
      std::min(device.limits.readsAsInitiator, theirs.readsAsTarget);
  return readyToSend(calls, qp, path, mine, readsInFlight);
}

}  // namespace gdrbench::verbs
