// SPDX-License-Identifier: Apache-2.0
// Work that may crash or hang, in a process of its own. For harness/environment
// and harness/doctor.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "harness/core/result.h"

namespace gdrbench {

/// Forks, and answers what `work` answers there. An Error when the child ends otherwise or is not
/// done in time; then it is killed. `tried` names the work in the Error.
Result<std::string> inChild(const std::string& tried, std::chrono::milliseconds timeout,
                            const std::function<std::string()>& work);

}  // namespace gdrbench
