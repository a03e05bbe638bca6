// SPDX-License-Identifier: Apache-2.0
// Questions to a transport about its library, in a process of its own.
#pragma once

#include <functional>

#include "harness/core/result.h"
#include "harness/doctor/inputs.h"

namespace gdrbench::doctor {

/// What `ask` answers there. A crash, a hang or an Error becomes the reason why the version is
/// unknown. `user` names the transport.
Library askLibrary(const std::string& user, const std::function<Result<Library>()>& ask);

}  // namespace gdrbench::doctor
