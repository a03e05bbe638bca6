// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/words.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <iterator>

namespace gdrbench::verbs {
namespace {

struct Words {
  int status;
  ErrorCode code;
  const char* means;
  const char* check;
};

constexpr Words kStatuses[] = {
    {IBV_WC_RETRY_EXC_ERR, ErrorCode::kPeerLost,
     "no acknowledgement came, however often it was sent again: the peer is gone, or packets do "
     "not "
     "get through",
     "look at the other side's account; ping between the two addresses; are GID, MTU, VLAN and PFC "
     "settings the same along the path?"},
    {IBV_WC_RNR_RETRY_EXC_ERR, ErrorCode::kTransport,
     "the receiver had no receive posted, however often it was tried again: it is slower than the "
     "sender",
     "raise rx_depth or rnr_retry (7: for ever), or lower the window"},
    {IBV_WC_WR_FLUSH_ERR, ErrorCode::kTransport,
     "the queue pair went to its error state before this was done, and the device tells no first "
     "error; mostly no acknowledgement came: packets are lost, or the peer is gone",
     "look for the first error, on the other side too"},
    {IBV_WC_REM_ACCESS_ERR, ErrorCode::kTransport,
     "the peer's device refused the address or key: outside of what it registered, or registered "
     "without that right",
     "for GPU memory: is the whole buffer one dma-buf, with the right offset?"},
    {IBV_WC_REM_INV_REQ_ERR, ErrorCode::kTransport,
     "the peer's device refused the request: longer than its receive, or more reads at once than "
     "it "
     "takes",
     "are both sides the same build with the same plan?"},
    {IBV_WC_REM_OP_ERR, ErrorCode::kTransport,
     "the peer's device could not complete the request, although it was valid",
     "look at its kernel log; ACS or an IOMMU between its network card and its GPU does this too"},
    {IBV_WC_LOC_PROT_ERR, ErrorCode::kTransport,
     "the device may not touch this side's buffer: outside of what is registered",
     "for GPU memory: is the whole buffer one dma-buf, with the right offset? ACS or an IOMMU "
     "between network card and GPU does this too"},
    {IBV_WC_LOC_LEN_ERR, ErrorCode::kTransport,
     "the message is longer than the receive that it met, or than the device allows",
     "are both sides the same build with the same plan?"},
    {IBV_WC_LOC_QP_OP_ERR, ErrorCode::kTransport,
     "the device refused the work request as malformed", "look at the kernel log"},
    {IBV_WC_LOC_ACCESS_ERR, ErrorCode::kTransport,
     "an incoming message met memory of this side without the right to write it",
     "look at the kernel log"},
    {IBV_WC_BAD_RESP_ERR, ErrorCode::kTransport,
     "the peer's answer makes no sense: packets are damaged or belong to something else",
     "look at the port's error counters"},
    {IBV_WC_REM_ABORT_ERR, ErrorCode::kPeerLost, "the peer gave up",
     "look at the other side's account"},
    {IBV_WC_FATAL_ERR, ErrorCode::kTransport, "the device failed",
     "look at the kernel log; the device may need a reset"},
};

struct EventWords {
  int type;
  const char* text;
  const char* next;
};

constexpr EventWords kEvents[] = {
    {IBV_EVENT_PORT_ERR, "the port went down", "look at the cable, the switch and ip link"},
    {IBV_EVENT_DEVICE_FATAL, "the device failed", "look at the kernel log; it may need a reset"},
    {IBV_EVENT_CQ_ERR, "completion queue overrun: more completed than it has room for",
     "this is a fault of gdrbench, whose queues have room for all work, or of the device"},
    {IBV_EVENT_QP_FATAL, "the queue pair failed", "look at the kernel log"},
    {IBV_EVENT_QP_REQ_ERR, "the peer sent a request that the queue pair does not take",
     "are both sides the same build with the same plan?"},
    {IBV_EVENT_QP_ACCESS_ERR, "the peer reached for memory that it may not touch",
     "for GPU memory: is the whole buffer one dma-buf, with the right offset?"},
    {IBV_EVENT_PATH_MIG_ERR, "the path could not be migrated", "look at the subnet manager's log"},
};

}  // namespace

Error explain(const BadCompletion& completion) {
  const auto words =
      std::find_if(std::begin(kStatuses), std::end(kStatuses),
                   [&](const Words& each) { return each.status == completion.status; });
  const bool known = words != std::end(kStatuses);
  const char* native = ibv_wc_status_str(static_cast<ibv_wc_status>(completion.status));
  return {.code = known ? words->code : ErrorCode::kTransport,
          .tried = fmt::format("complete {} with {}", completion.operation, completion.with),
          .nativeCode = completion.status,
          .nativeText = fmt::format("{}{}{}; vendor error {:#x}", native, known ? ": " : "",
                                    known ? words->means : "", completion.vendorError),
          .next = known ? words->check : "look at the kernel log"};
}

Error explainEvent(int type, const std::string& where) {
  const auto words = std::find_if(std::begin(kEvents), std::end(kEvents),
                                  [&](const EventWords& each) { return each.type == type; });
  const bool known = words != std::end(kEvents);
  return {.code = ErrorCode::kTransport,
          .tried = "go on using " + where,
          .nativeCode = type,
          .nativeText = fmt::format(
              "asynchronous event: {}",
              known ? words->text : ibv_event_type_str(static_cast<ibv_event_type>(type))),
          .next = known ? words->next : "look at the kernel log"};
}

bool isFatal(int type, int eventPort, int port) {
  if (type == IBV_EVENT_PORT_ERR) return eventPort == port;
  return std::any_of(std::begin(kEvents), std::end(kEvents),
                     [&](const EventWords& each) { return each.type == type; });
}

}  // namespace gdrbench::verbs
