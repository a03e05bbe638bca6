// SPDX-License-Identifier: Apache-2.0
// Endpoint options that say something about the path of GPU memory. Private to the module. Headers
// may be older than the library that runs: the values are our own, and asked for by its version.
#pragma once

#include <optional>
#include <string_view>

#include "transports/libfabric/handles.h"
#include "transports/libfabric/path_evidence.h"

namespace gdrbench::libfabric {

/// rdma/fi_ext.h since 1.18: negative numbers are a provider's own, these of efa.
inline constexpr int kEmulatedRead = -(0xefa << 16) + 1;
inline constexpr int kEmulatedWrite = -(0xefa << 16) + 2;

struct PathAnswers {
  Answer peerToPeerRequired = Answer::kNotAsked;
  Answer cudaCallsForbidden = Answer::kNotAsked;
};

/// `core` or a layer over it.
bool isProvider(const fi_info& info, std::string_view core);

/// Before the endpoint is enabled. Of provider efa with GPU memory it requires peer-to-peer, so
/// that it refuses to copy; others are not asked, for there it means something else or nothing.
PathAnswers requirePeerToPeer(fid_ep& ep, const fi_info& info);

/// A yes-or-no option; nothing where this library or provider has none of that number.
std::optional<bool> ask(fid_ep& ep, int option);

}  // namespace gdrbench::libfabric
