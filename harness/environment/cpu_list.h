// SPDX-License-Identifier: Apache-2.0
// CPU lists as the kernel writes them: "0-3,8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gdrbench {

/// Ascending, without repeats; empty for an empty text and for one that is no such list.
std::vector<int> parseCpuList(std::string_view text);

/// Of ascending CPUs.
std::string cpuListText(const std::vector<int>& cpus);

}  // namespace gdrbench
