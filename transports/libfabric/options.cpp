// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/options.h"

#include <fmt/format.h>

namespace gdrbench::libfabric {
namespace {

constexpr std::string_view kOps[] = {"write", "send", "read"};
constexpr std::string_view kRegistrations[] = {"hmem", "dmabuf"};
constexpr std::string_view kProgress[] = {"default", "auto", "manual"};
constexpr std::string_view kDelivery[] = {"default", "transmit", "delivery"};

constexpr Option kOptions[] = {
    {.name = "provider",
     .required = true,
     .help = "as fi_info names it: tcp, \"tcp;ofi_rxm\", shm, \"verbs;ofi_rxm\", efa ..."},
    {.name = "domain",
     .fallback = "",
     .help = "as fi_info names it; default: the first that the provider offers"},
    {.name = "responder_domain",
     .fallback = "",
     .help = "domain of the responder, where it is not called as the initiator's"},
    {.name = "op",
     .type = OptionType::kChoice,
     .fallback = "write",
     .choices = kOps,
     .help = "write: RMA write with CQ data; send: two-sided; read: RMA read, whose latency is the "
             "full operation"},
    {.name = "address",
     .fallback = "",
     .help = "source address for providers on sockets; default: 127.0.0.1 when both sides are on "
             "one host, the provider's choice otherwise"},
    {.name = "inject",
     .type = OptionType::kBool,
     .fallback = "true",
     .help = "use fi_inject for messages up to the provider's inject size (host memory only, and "
             "only with the default delivery)"},
    {.name = "registration",
     .type = OptionType::kChoice,
     .fallback = "hmem",
     .choices = kRegistrations,
     .help = "of GPU memory: hmem: by its address (FI_HMEM_CUDA); dmabuf: by an exported file "
             "descriptor (FI_MR_DMABUF, libfabric 1.20 or newer)"},
    {.name = "tx_depth",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 65536,
     .help = "size of the transmit context; 0: the provider's default"},
    {.name = "rx_depth",
     .type = OptionType::kInteger,
     .fallback = "0",
     .min = 0,
     .max = 65536,
     .help = "size of the receive context; 0: the provider's default"},
    {.name = "progress",
     .type = OptionType::kChoice,
     .fallback = "default",
     .choices = kProgress,
     .help = "data progress to ask for"},
    {.name = "delivery",
     .type = OptionType::kChoice,
     .fallback = "default",
     .choices = kDelivery,
     .help = "when a send is complete: FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, or as the "
             "provider likes"},
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Status validate(const OptionSet& options) {
  const std::string& provider = options.text("provider");
  const bool clean = !provider.empty() && provider.find_first_of(" ,^") == std::string::npos;
  if (clean) return Done{};
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("provider '{}' is not a provider's name", provider),
               .next = "write one name as fi_info shows it, layers joined by ';'"};
}

std::string label(const OptionSet& options) {
  const std::string& op = options.text("op");
  return fmt::format("libfabric:{}{}", options.text("provider"), op == "write" ? "" : "/" + op);
}

std::vector<std::pair<std::string, std::string>> libraryStaged(const OptionSet& options) {
  if (coreOf(options.text("provider")) != "efa") return {};
  return {{"FI_HMEM_DISABLE_P2P", "1"}};
}

}  // namespace gdrbench::libfabric
