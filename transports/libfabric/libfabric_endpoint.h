// SPDX-License-Identifier: Apache-2.0
// One libfabric endpoint, its memory regions and its address. Private to the module.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/device.h"
#include "transports/libfabric/libfabric_lane.h"
#include "transports/libfabric/select.h"
#include "transports/transport.h"

namespace gdrbench::libfabric {

class LibfabricEndpoint final : public Endpoint {
 public:
  /// Selects, opens, and compares what the provider can do with what the lane needs.
  static Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request);

  ~LibfabricEndpoint() override;
  LibfabricEndpoint(const LibfabricEndpoint&) = delete;
  LibfabricEndpoint& operator=(const LibfabricEndpoint&) = delete;

  Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) override;
  Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) override;
  Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                        MemoryRegion& source, MemoryRegion& target,
                                        Deadline deadline) override;
  [[nodiscard]] std::vector<Claim> claims() const override;
  [[nodiscard]] std::vector<evidence::Observation> observations() const override;

 private:
  LibfabricEndpoint(const OpenRequest& request, std::unique_ptr<Objects> objects);
  Status checkLimits() const;
  [[nodiscard]] std::string hmemText() const;
  [[nodiscard]] bool isNamed() const;
  [[nodiscard]] bool usesAddresses() const;
  [[nodiscard]] SideFacts sideFacts(std::uint64_t sourceKey, std::uint64_t targetKey) const;
  void startCounting(Payload& payload);
  Result<Fid<fid_mr>> registerHost(const Buffer& buffer);
  Result<Fid<fid_mr>> registerCuda(const Buffer& buffer);
  Result<Fid<fid_mr>> registerRange(const Buffer& buffer, fi_mr_attr& attr, std::uint64_t flags);

  OpenRequest request_;
  Op op_;
  std::unique_ptr<Objects> objects_;
  std::size_t injectBytes_ = 0;
  std::uint64_t nextKey_ = 1;
  std::string ownName_, peerName_;
  std::shared_ptr<const cuda::Device> device_;  ///< of the memory, when it is a GPU's
  std::string registration_ = "none";           ///< in effect
  SideFacts mine_, peers_;                      ///< complete once connected
  Counters countersBefore_;                     ///< of the adapter
  std::shared_ptr<Payload> payload_ = std::make_shared<Payload>();  ///< counted by the lane
};

}  // namespace gdrbench::libfabric
