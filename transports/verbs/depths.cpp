// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/depths.h"

#include <fmt/format.h>

#include <algorithm>

namespace gdrbench::verbs {
namespace {

constexpr std::uint32_t kLeastSends = 128;
constexpr std::uint32_t kLeastReceives = 512;
constexpr std::uint32_t kSyncMessages = 16;

std::uint32_t asked(const OptionSet& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.integer(name));
}

std::uint32_t fitting(std::uint32_t window, std::uint32_t least, std::uint32_t most) {
  return std::clamp<std::uint32_t>(std::max(2 * window + kSyncMessages, least), 1, most);
}

Error tooMuch(std::string_view device, std::string what, std::string_view has,
              std::uint32_t limit) {
  return {.code = ErrorCode::kUnsupported,
          .tried = fmt::format("give {} {}", device, what),
          .nativeText = fmt::format("{} of it holds {}", has, limit),
          .next = "ask for less, or leave it at 0"};
}

}  // namespace

Result<Depths> planDepths(const OptionSet& options, std::uint32_t window, const Limits& limits,
                          std::string_view device) {
  const std::uint32_t send = asked(options, "tx_depth"), receive = asked(options, "rx_depth");
  for (const auto& [name, depth] : {std::pair{"tx_depth", send}, std::pair{"rx_depth", receive}}) {
    if (depth <= limits.workRequests) continue;
    return tooMuch(device, fmt::format("{} {}", name, depth), "a queue", limits.workRequests);
  }
  const std::uint32_t pairs = asked(options, "qps");
  const std::uint32_t share = limits.completions / pairs;  // of the one completion queue
  if (send + receive > share || share < 2) {
    return tooMuch(device,
                   fmt::format("{} queue pairs with {} work requests each", pairs, send + receive),
                   "the completion queue", limits.completions);
  }
  Depths depths{send, receive, 0};
  // What is not asked for gives way to what is.
  if (send == 0) {
    const std::uint32_t left = receive == 0 ? share / 2 : share - receive;
    depths.send = fitting(window, kLeastSends, std::min(limits.workRequests, std::max(left, 1u)));
  }
  if (receive == 0) {
    const std::uint32_t left = share - depths.send;
    depths.receive =
        fitting(window, kLeastReceives, std::min(limits.workRequests, std::max(left, 1u)));
  }
  depths.completions = pairs * (depths.send + depths.receive);
  if (depths.completions <= limits.completions) return depths;
  return tooMuch(device, fmt::format("{} completions", depths.completions), "the completion queue",
                 limits.completions);
}

}  // namespace gdrbench::verbs
