// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/options.h"

#include <fmt/format.h>

#include "harness/core/units.h"

namespace gdrbench::verbs {
namespace {

constexpr std::string_view kOps[] = {"write", "send", "read"};
constexpr std::string_view kMtus[] = {"auto", "256", "512", "1024", "2048", "4096"};
constexpr std::string_view kDoorbells[] = {"batch", "each"};
constexpr std::string_view kRegistrations[] = {"host", "dmabuf", "peermem"};
constexpr std::string_view kMappings[] = {"default", "pcie"};
constexpr std::int64_t kLastGid = 255;  // ibv_global_route has a byte for it

constexpr Option kOptions[] = {
    {.name = "device",
     .fallback = "auto",
     .help = "name (mlx5_0), number, network interface (eth2) or PCI address; auto: the nearest to "
             "the GPU, or the first with a port that is up"},
    {.name = "responder_device",
     .fallback = "",
     .help = "device of the responder, where it is not called as the initiator's"},
    {.name = "port",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 254,
     .help = "port of the device; 0: the first that is up"},
    {.name = "op",
     .type = OptionType::kChoice,
     .fallback = "write",
     .choices = kOps,
     .help = "write: RDMA write with immediate; send: two-sided; read: RDMA read, whose latency is "
             "the full operation"},
    {.name = "gid_index",
     .fallback = "auto",
     .help =
         "RoCE: entry of the GID table; auto: RoCE v2 before v1, routable before link-local, "
         "IPv4 before IPv6, of the interface that 'device' names. InfiniBand: a number asks for "
         "global routing"},
    {.name = "mtu",
     .type = OptionType::kChoice,
     .fallback = "auto",
     .choices = kMtus,
     .help = "path MTU in bytes; auto: the smaller of both ports' active MTU"},
    {.name = "service_level",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 15,
     .help = "InfiniBand service level"},
    {.name = "traffic_class",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 255,
     .help = "traffic class of packets with a global header; RoCE v2: DSCP and ECN bits"},
    {.name = "pkey_index",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 65535,
     .help = "entry of the partition key table"},
    {.name = "qps",
     .type = OptionType::kInteger,
     .fallback = "1",
     .min = 1,
     .max = 64,
     .help = "queue pairs; messages take turns"},
    {.name = "tx_depth",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 32768,
     .help = "send work requests that a queue pair can hold; 0: twice the window, at least 128"},
    {.name = "rx_depth",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 32768,
     .help = "receives that a queue pair can hold; 0: twice the window, at least 512"},
    {.name = "signal_every",
     .type = OptionType::kInteger,
     .fallback = "16",
     .min = 1,
     .max = 4096,
     .help = "within a batch, one completion for so many messages; the last of a batch always has "
             "one"},
    {.name = "doorbell",
     .type = OptionType::kChoice,
     .fallback = "batch",
     .choices = kDoorbells,
     .help = "batch: the work requests of a batch are linked and posted at once; each: one by one"},
    {.name = "inline",
     .type = OptionType::kSize,
     .fallback = "220B",
     .min = 0,
     .max = 4096,
     .help = "messages up to this size are copied into the work request; host memory only. The "
             "default is lowered to what the device has"},
    {.name = "relaxed_ordering",
     .type = OptionType::kBool,
     .fallback = "false",
     .help = "let PCIe reorder the writes of the device"},
    {.name = "registration",
     .type = OptionType::kChoice,
     .fallback = "host",
     .choices = kRegistrations,
     .help = "of GPU memory: dmabuf, or peermem (nvidia_peermem). Host memory is always registered "
             "by its address"},
    {.name = "mapping",
     .type = OptionType::kChoice,
     .fallback = "default",
     .choices = kMappings,
     .help = "of a dma-buf: default, or pcie (needs a GPU that offers it, and mlx5 data-direct)"},
    {.name = "ack_timeout",
     .type = OptionType::kInteger,
     .fallback = "14",
     .min = 1,
     .max = 31,
     .help = "wait for an acknowledgement: 4.096 us * 2^n (14: 67 ms)"},
    {.name = "retry_count",
     .type = OptionType::kInteger,
     .fallback = "7",
     .min = 0,
     .max = 7,
     .help = "how often a packet without acknowledgement is sent again"},
    {.name = "rnr_retry",
     .type = OptionType::kInteger,
     .fallback = "7",
     .min = 0,
     .max = 7,
     .help = "how often to try again when the receiver has no receive posted; 7: for ever"},
    {.name = "min_rnr_timer",
     .type = OptionType::kInteger,
     .fallback = "12",
     .min = 0,
     .max = 31,
     .help = "how long a sender waits then, in the code of the InfiniBand specification (12: 0.64 "
             "ms)"},
};

Error wrong(std::string what, std::string next = {}) {
  return {.code = ErrorCode::kUsage, .tried = std::move(what), .next = std::move(next)};
}

Status checkGidIndex(const std::string& text) {
  if (text == "auto") return Done{};
  const Result<std::int64_t> index = parseInteger(text);
  if (index && *index >= 0 && *index <= kLastGid) return Done{};
  return wrong(fmt::format("gid_index '{}' is not an entry of a GID table", text),
               "write auto, or a number as show_gids or ibv_devinfo -v lists them");
}

}  // namespace

OptionTable options() {
  return kOptions;
}

Status validate(const OptionSet& options) {
  if (Status good = checkGidIndex(options.text("gid_index")); !good) return good;
  if (options.text("device").empty()) {
    return wrong("device is empty", "name one, or write auto");
  }
  if (options.text("mapping") != "default" && options.text("registration") != "dmabuf") {
    return wrong("mapping: pcie is one of a dma-buf", "set registration: dmabuf");
  }
  return Done{};
}

std::string label(const OptionSet& options) {
  const std::string& op = options.text("op");
  return op == "write" ? "verbs" : "verbs/" + op;
}

}  // namespace gdrbench::verbs
