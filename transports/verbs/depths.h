// SPDX-License-Identifier: Apache-2.0
// How deep the queues are: what was asked for if the device has it, otherwise what suits the window
// and fits.
#pragma once

#include <cstdint>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/verbs/devices.h"

namespace gdrbench::verbs {

struct Depths {
  std::uint32_t send = 0, receive = 0;  ///< work requests of each queue pair
  std::uint32_t completions = 0;        ///< room for all of them at once: no overrun
};

Result<Depths> planDepths(const OptionSet& options, std::uint32_t window, const Limits& limits,
                          std::string_view device);

}  // namespace gdrbench::verbs
