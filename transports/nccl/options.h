// SPDX-License-Identifier: Apache-2.0
// What must be known of the nccl transport without its library.
#pragma once

#include <string>
#include <vector>

#include "transports/registry.h"

namespace gdrbench::nccl {

inline constexpr const char* kLibrary = "libnccl.so.2";

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);
/// "nccl", "nccl:registered", "nccl:stream", "nccl:graph", "nccl:non-blocking", "nccl:1-process".
std::string label(const OptionSet& options);
std::vector<EnvironmentSetting> libraryStaged(const OptionSet& options);

inline constexpr PathVariable kPathVariables[] = {
    {"NCCL_P2P_DISABLE", "1", "GPUs of one host go through host memory or the network"},
    {"NCCL_P2P_LEVEL", "loc,0", "GPUs of one host go through host memory or the network"},
    {"NCCL_SHM_DISABLE"},
    {"NCCL_IB_DISABLE", "1", "RDMA devices are left out: sockets carry everything"},
    {"NCCL_IB_HCA"},
    {"NCCL_NET", "socket", "sockets carry everything"},
    {"NCCL_NET_PLUGIN"},
    {"NCCL_NET_GDR_LEVEL", "loc,0", "no NIC is near enough: host memory is in between"},
    {"NCCL_NET_GDR_READ", "0", "what is sent goes through host memory"},
    {"NCCL_NET_GDR_C2C"},
    {"NCCL_DMABUF_ENABLE", "0", "only peer memory is left, if there is such a module"},
    {"NCCL_SOCKET_IFNAME"},
};

}  // namespace gdrbench::nccl
