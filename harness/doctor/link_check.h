// SPDX-License-Identifier: Apache-2.0
// A PCIe link below what both of its ends can do. Private to harness/doctor.
#pragma once

#include <optional>
#include <string>

#include "harness/doctor/check.h"
#include "harness/environment/topology.h"

namespace gdrbench::doctor {

/// GPUs lower the speed of a link that nothing uses.
enum class Idle { kKeepsSpeed, kSlowsDown };

Check linkCheck(const About& about, const std::string& subject, const std::optional<PcieLink>& link,
                Idle idle);

}  // namespace gdrbench::doctor
