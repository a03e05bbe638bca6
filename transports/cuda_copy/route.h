// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/cuda/device.h"
#include "transports/cuda_copy/address.h"
#include "transports/cuda_copy/path_evidence.h"
#include "transports/cuda_copy/region.h"

namespace gdrbench::cuda_copy {

/// From this side's source buffer to the peer's target buffer.
struct Route {
  std::shared_ptr<const cuda::Device> device;  ///< on whose stream the copies are put
  std::shared_ptr<const cuda::Device> peer;    ///< between two GPUs: the other
  std::unique_ptr<Import> import;              ///< between two processes
  cuda::DevicePointer source = 0, target = 0;
  /// Both set: the GPUs do not use each other's memory, and the driver is told whose is whose.
  cuda::Context sourceContext = nullptr, targetContext = nullptr;
  std::string text;        ///< "GPU 0000:3b:00.0 to GPU 0000:86:00.0"
  std::string peerAccess;  ///< what became of it, for the report
  RouteFacts facts;        ///< the same, as evidence
};

struct RouteRequest {
  std::shared_ptr<const cuda::Device> device;
  const Region& source;
  const Address& peer;
  bool peerInThisProcess = false;
  bool peerAccess = true;  ///< as asked for
};

/// Enables peer access and maps the peer's buffer, where that is needed. Leaves the context of
/// `device` current on this thread.
Result<Route> routeTo(const RouteRequest& request);

/// "GPU 0000:3b:00.0", "pinned host memory", "pageable host memory".
std::string placeText(MemoryKind kind, std::string_view pci, bool pinned);

}  // namespace gdrbench::cuda_copy
