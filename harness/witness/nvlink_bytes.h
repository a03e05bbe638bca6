// SPDX-License-Identifier: Apache-2.0
// Bytes that a GPU sent and received over NVLink. Private to harness/witness.
#pragma once

#include <memory>
#include <vector>

#include "harness/witness/counter.h"
#include "harness/witness/sources.h"

namespace gdrbench::witness {

class NvmlCounters;

/// `nvml` may be an Error: then that is what is said.
std::unique_ptr<Witness> nvlinkBytes(const Scene& scene,
                                     Result<std::shared_ptr<NvmlCounters>> nvml);

/// One counter of a GPU: of each of its links.
using LinkReading = Known<std::vector<std::uint64_t>>;

/// Some drivers give for each link the counter of the whole GPU, others the link's own. Where all
/// links have one value before and after, they are taken for repetitions, and `ifSummed` is what it
/// would be else; otherwise links are summed, and both flows are the same.
struct GpuWide {
  Flow flow, ifSummed;
};
GpuWide gpuWide(const LinkReading& before, const LinkReading& after);

}  // namespace gdrbench::witness
