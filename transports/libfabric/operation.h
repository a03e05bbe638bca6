// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gdrbench::libfabric {

enum class Op { kWrite, kSend, kRead };

}  // namespace gdrbench::libfabric
