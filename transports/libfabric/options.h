// SPDX-License-Identifier: Apache-2.0
// What must be known of this transport without loading libfabric.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/capabilities.h"
#include "transports/path_variable.h"

namespace gdrbench::libfabric {

OptionTable options();

/// Without its layers: "efa" of "efa", "tcp" of "tcp;ofi_rxm".
inline std::string_view coreOf(std::string_view provider) {
  return provider.substr(0, provider.find(';'));
}

/// Inline: the module needs it too, and cannot count on the program that opens it to export it.
inline Capabilities capabilities(const OptionSet& options) {
  const std::string& op = options.text("op");
  const std::string_view core = coreOf(options.text("provider"));
  return {.memory = {MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kCuda},
          .flow = op == "read" ? DataFlow::kPull : DataFlow::kPush,
          .mapsPeer = core == "shm" || core == "sm2",
          .operation = op == "write" ? "write with CQ data" : op};
}

Status validate(const OptionSet& options);

/// "libfabric:tcp", "libfabric:shm/read".
std::string label(const OptionSet& options);

/// FI_HMEM_DISABLE_P2P, for efa, which then copies through host memory. verbs, ofi_rxm and psm3
/// refuse GPU memory instead, and shm takes no notice (1.18 to 2.6): nothing for them.
std::vector<std::pair<std::string, std::string>> libraryStaged(const OptionSet& options);

inline constexpr PathVariable kPathVariables[] = {
    {"FI_PROVIDER", "tcp,sockets,udp,shm,sm2", "no provider that uses an RDMA device is left"},
    {"FI_HMEM", "system", "memory of GPUs is left out"},
    {"FI_HMEM_DISABLE_P2P", "1,true,yes,on", "GPU memory is copied through host memory"},
    {"FI_HMEM_CUDA_USE_DMABUF", "0,false,no,off", "only peer memory is left"},
    {"FI_HMEM_CUDA_USE_GDRCOPY"},
    {"FI_EFA_USE_DEVICE_RDMA", "0,false,no,off", "reads and writes are emulated by software"},
    {"FI_EFA_ENABLE_SHM_TRANSFER"},
};

}  // namespace gdrbench::libfabric
