// SPDX-License-Identifier: Apache-2.0
#include "harness/run/path_watch.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <utility>

#include "harness/run/placement.h"

namespace gdrbench {
namespace {

/// Words by which transports say what they use: an RDMA device, a domain of it, a network
/// interface.
constexpr std::string_view kDeviceKeys[] = {"device", "domain", "interface"};

/// "mlx5_0 (0000:3b:00.0)" and "rdmap16s27-rdm" are mlx5_0 and rdmap16s27.
std::string deviceIn(std::string_view value) {
  const std::string_view word = value.substr(0, value.find(' '));
  for (const std::string_view name : {word, word.substr(0, word.rfind('-'))}) {
    for (const char* folder : {"/sys/class/infiniband/", "/sys/class/net/"}) {
      std::error_code unreadable;
      const std::string path = folder + std::string(name);
      if (!name.empty() && std::filesystem::exists(path, unreadable)) return std::string(name);
    }
  }
  return {};
}

std::string deviceOf(std::span<const Claim> claims) {
  for (const std::string_view key : kDeviceKeys) {
    for (const Claim& claim : claims) {
      if (claim.key != key) continue;
      if (std::string device = deviceIn(claim.value); !device.empty()) return device;
    }
  }
  return {};
}

int portOf(std::span<const Claim> claims) {
  int port = 1;
  for (const Claim& claim : claims) {
    if (claim.key == "port") {
      std::from_chars(claim.value.data(), claim.value.data() + claim.value.size(), port);
    }
  }
  return port;
}

witness::Scene sceneOf(const Case& c, Role role, std::span<const Claim> claims,
                       bool peerOnThisHost) {
  const bool first = role == Role::kInitiator;
  const MemoryName& mine = first ? c.source : c.destination;
  const MemoryName& theirs = first ? c.destination : c.source;
  return {.memory = mine,
          .peerMemory = theirs,
          .gpuPci = mine.kind == MemoryKind::kCuda ? gpuOf(mine) : "",
          .peerGpuPci = theirs.kind == MemoryKind::kCuda ? gpuOf(theirs) : "",
          .nic = deviceOf(claims),
          .nicPort = portOf(claims),
          .messageBytes = c.bytes,
          .peerOnThisHost = peerOnThisHost};
}

}  // namespace

PathWatch::PathWatch(const Case& testCase, Role role, std::span<const Claim> claims,
                     bool peerOnThisHost)
    : role_(role), messageBytes_(testCase.bytes), watches_(testCase.watching != Watching::kNone) {
  if (!watches_) return;
  const witness::Scene scene = sceneOf(testCase, role, claims, peerOnThisHost);
  witnesses_ = witness::freeWitnesses(scene);
  if (testCase.watching != Watching::kAll) return;
  for (auto& more : witness::passWitnesses(scene)) witnesses_.push_back(std::move(more));
}

void PathWatch::begin(const CheckCount& soFar) {
  if (std::exchange(begun_, true)) return;
  before_ = soFar;
  for (const auto& witness : witnesses_) witness->begin();
}

std::vector<evidence::Observation> PathWatch::end(const CheckCount& soFar,
                                                  const Endpoint& endpoint) {
  std::vector<evidence::Observation> all;
  if (!watches_ || !begun_) return all;
  const std::uint64_t sent = soFar.sent - before_.sent;
  const std::uint64_t received = soFar.received - before_.received;
  const witness::Payload payload{.sentBytes = sent * messageBytes_,
                                 .receivedBytes = received * messageBytes_,
                                 .sentMessages = sent,
                                 .receivedMessages = received};
  const auto take = [&](std::vector<evidence::Observation> seen) {
    std::move(seen.begin(), seen.end(), std::back_inserter(all));
  };
  for (const auto& witness : witnesses_) take(witness->end(payload));
  take(endpoint.observations());
  for (evidence::Observation& seen : all) {
    if (seen.artefact.size() > evidence::kMaxArtefact) seen.artefact.resize(evidence::kMaxArtefact);
    if (role_ == Role::kResponder) seen = mirrored(std::move(seen));
  }
  return all;
}

}  // namespace gdrbench
