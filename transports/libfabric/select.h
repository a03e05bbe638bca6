// SPDX-License-Identifier: Apache-2.0
// Choosing a provider and a domain, explicitly: what was asked for or an error that says what there
// is. Private to the module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/libfabric/handles.h"
#include "transports/transport.h"

namespace gdrbench::libfabric {

/// The API version that this module was written for and compiled against, whichever is older.
/// FI_MR_DMABUF is part of 1.20.
std::uint32_t apiVersion();

/// "1.17".
std::string versionText(std::uint32_t version);

/// The completion level that an option asks for; 0: the provider's default.
std::uint64_t deliveryFlag(std::string_view delivery);

struct Wanted {
  std::string provider, domain, address;
  std::string op = "write";
  std::string progress = "default", delivery = "default";
  std::size_t txDepth = 0, rxDepth = 0;
  bool peerOnThisHost = true;
  bool ordered = true;     ///< sends keep their order
  bool hmem = false;       ///< GPU memory on either side: a host row never asks for it
  bool anyMrMode = false;  ///< also memory registration modes that this transport cannot do
  /// Name for providers whose addresses are names (shm).
  std::string ownName;

  static Wanted from(const OpenRequest& request);
};

/// One fi_info that serves `wanted`: the provider is exactly the one asked for, or a utility layer
/// over it (asking for "tcp" may give "tcp;ofi_rxm", as everywhere in libfabric).
Result<Info> select(const Wanted& wanted);

/// Every provider that this libfabric has compiled in or can load, usable here or not.
std::vector<std::string> builtProviders();

/// Whether this libfabric has options for CUDA memory, which it has only where it was built for it.
bool builtWithCuda();

/// Names of all providers that have RDM endpoints here, each once.
std::vector<std::string> rdmProviders();

}  // namespace gdrbench::libfabric
