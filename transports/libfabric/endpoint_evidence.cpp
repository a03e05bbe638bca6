// SPDX-License-Identifier: Apache-2.0
// Gathers what path_evidence.h concludes from.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "transports/libfabric/libfabric_endpoint.h"
#include "transports/libfabric/path_options.h"

namespace gdrbench::libfabric {
namespace {

std::string textOf(const char* value) {
  return value == nullptr ? "" : value;
}

std::uint64_t sizeFrom(const char* variable, std::uint64_t fallback) {
  const std::string text = textOf(std::getenv(variable));
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
  return text.empty() || *end != '\0' ? fallback : value;
}

}  // namespace

SideFacts LibfabricEndpoint::sideFacts(std::uint64_t sourceKey, std::uint64_t targetKey) const {
  const bool efa = isProvider(*objects_->info, "efa");
  return {.onGpu = request_.memory.kind == MemoryKind::kCuda,
          .sourceKey = sourceKey,
          .targetKey = targetKey,
          .peerToPeerRequired = objects_->path.peerToPeerRequired,
          .emulatesWrite = efa ? ask(*objects_->ep, kEmulatedWrite) : std::nullopt,
          .emulatesRead = efa ? ask(*objects_->ep, kEmulatedRead) : std::nullopt};
}

void LibfabricEndpoint::startCounting(Payload& payload) {
  payload = {};
  if (request_.memory.kind != MemoryKind::kCuda || !isProvider(*objects_->info, "efa")) return;
  countersBefore_ = readCounters("/sys", textOf(objects_->info->domain_attr->name));
}

std::vector<evidence::Observation> LibfabricEndpoint::observations() const {
  const fi_info& info = *objects_->info;
  if (request_.memory.kind != MemoryKind::kCuda) return {};
  PathFacts facts{.provider = textOf(info.fabric_attr->prov_name),
                  .fabric = textOf(info.fabric_attr->name),
                  .library = {FI_MAJOR(fi_version()), FI_MINOR(fi_version())},
                  .op = op_,
                  .messageBytes = request_.lane.messageBytes,
                  .offersGpuMemory = (info.caps & FI_HMEM) != 0,
                  .registration = registration_,
                  .mine = mine_,
                  .peers = peers_,
                  .cudaCallsForbidden = objects_->path.cudaCallsForbidden,
                  .psm3GpuDirect = textOf(std::getenv("PSM3_GPUDIRECT")),
                  .counters = {}};
  facts.eagerBytes = sizeFrom("FI_OFI_RXM_BUFFER_SIZE", facts.eagerBytes);
  facts.segmentedBytes =
      std::max(facts.eagerBytes, sizeFrom("FI_OFI_RXM_SAR_LIMIT", 8 * facts.eagerBytes));
  if (!countersBefore_.empty() && payload_) {
    const Counters after = readCounters("/sys", textOf(info.domain_attr->name));
    facts.counters = counterObservations(countersBefore_, after, *payload_, op_);
  }
  return pathObservations(facts);
}

}  // namespace gdrbench::libfabric
