// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "transports/staged/geometry.h"
#include "transports/staged/wire.h"
#include "transports/transport.h"

namespace gdrbench::staged {

/// A GPU and two lanes of the transport underneath: one for chunks, one for credits.
class StagedEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(Transport& inner, const OpenRequest& request,
                                                const OptionSet& stagingOptions);

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override;
  Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) override;
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override;
  [[nodiscard]] std::vector<Claim> claims() const override;
  [[nodiscard]] std::vector<evidence::Observation> observations() const override;

 private:
  StagedEndpoint(const OpenRequest& request, const OptionSet& options,
                 std::shared_ptr<const cuda::Device> device)
      : spec_(request.lane),
        options_(options),
        geometry_(Geometry::of(options, request.lane)),
        device_(std::move(device)) {}

  Status openWires(Transport& inner, const OpenRequest& request);
  [[nodiscard]] std::uint64_t patience() const;
  Result<std::unique_ptr<Lane>> makeLane(MemoryRegion& source, MemoryRegion& target,
                                         std::unique_ptr<Lane> data, std::unique_ptr<Lane> credits);

  LaneSpec spec_;
  OptionSet options_;
  Geometry geometry_;
  std::shared_ptr<const cuda::Device> device_;
  std::unique_ptr<Wire> data_, credits_;
  std::string follows_ = "nothing yet";  ///< by what copies are known to be done
};

}  // namespace gdrbench::staged
