// SPDX-License-Identifier: Apache-2.0
// The staged path as a transport that the conformance rig can open by name, between two GPUs that
// are none.
#pragma once

#include "tests/conformance/rig.h"

namespace gdrbench::staged {

using Options = std::vector<std::pair<std::string, std::string>>;

/// Options are those of the staging, `over` (what is underneath: loopback unless told otherwise)
/// and `inner` (options of that, "provider=tcp,op=send").
conformance::Subject subject(Options options);

/// The same over a provider that this machine may lack.
conformance::Subject overLibfabric(const std::string& provider, const std::string& op);

}  // namespace gdrbench::staged
