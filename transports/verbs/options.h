// SPDX-License-Identifier: Apache-2.0
// What must be known of this transport without loading libibverbs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/capabilities.h"

namespace gdrbench::verbs {

OptionTable options();

/// Inline: the module needs it too, and cannot count on the program that opens it to export it.
inline Capabilities capabilities(const OptionSet& options) {
  const std::string& op = options.text("op");
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned},
          .flow = op == "read" ? DataFlow::kPull : DataFlow::kPush,
          .operation = op == "write"  ? "RDMA write with immediate"
                       : op == "read" ? "RDMA read"
                                      : "send"};
}

Status validate(const OptionSet& options);

/// "verbs", "verbs/send", "verbs/read".
std::string label(const OptionSet& options);

}  // namespace gdrbench::verbs
