// SPDX-License-Identifier: Apache-2.0
// Libraries and mappings by which a CPU can copy from and to GPU memory. Private to
// harness/witness.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/witness/sources.h"

namespace gdrbench::witness {

std::unique_ptr<Witness> copyMappings(const Scene& scene, const Roots& roots);

/// Of the text of /proc/PID/maps: the files, each once, that are GDRCopy's library, its driver's
/// device, or dma-bufs. The first two are its old way, the last its newer one without a module.
std::vector<std::string> copyMappingsIn(std::string_view maps);

}  // namespace gdrbench::witness
