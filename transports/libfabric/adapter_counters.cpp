// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/adapter_counters.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

namespace gdrbench::libfabric {
namespace {

using namespace evidence;
namespace fs = std::filesystem;

/// Below it, handshakes and sync messages are too large a part.
constexpr std::uint64_t kLeastPayload = 1u << 20;
constexpr std::size_t kMostCounters = 256;

/// Names as in the kernel's driver (efa_verbs.c). `device`: of the operation itself; `sends`: what
/// an emulation by messages would move.
struct Expected {
  std::string_view device, sends;
};

Expected expectedOf(Way way, Op op) {
  const bool out = way == Way::kOut;
  const std::string_view sends = out ? "send_bytes" : "recv_bytes";
  if (op == Op::kRead) return {out ? "rdma_read_resp_bytes" : "rdma_read_bytes", sends};
  return {out ? "rdma_write_bytes" : "rdma_write_recv_bytes", sends};
}

/// From a fifth more (retransmission, other messages) down to a little less (read while counting).
bool isAbout(std::uint64_t counted, std::uint64_t payload) {
  return counted >= payload - payload / 50 && counted <= payload + payload / 5;
}

Observation about(Way way) {
  return {.id = "libfabric.adapter_counters",
          .kind = WitnessClass::kCounter,
          .way = way,
          .side = way == Way::kOut ? Side::kSource : Side::kSink,
          .outcome = Outcome::kUnavailable,
          .strength = Strength::kStrong,
          .observed = {},
          .ifDirect = "the payload in the device's own operation, and hardly a byte in messages",
          .ifStaged = "the payload in messages",
          .reason = {},
          .control = {},
          .privilege = "none",
          .artefact = {}};
}

/// What a counter moved by; the reason in `problem` where that is not known.
std::uint64_t moved(const Counters& before, const Counters& after, std::string_view name,
                    std::string& problem) {
  const auto first = before.find(name), last = after.find(name);
  if (first == before.end() || last == after.end()) {
    problem = fmt::format("the adapter has no counter {}", name);
    return 0;
  }
  if (last->second < first->second) {
    problem = fmt::format("the counter {} went back: it was reset", name);
    return 0;
  }
  return last->second - first->second;
}

Observation judge(const Counters& before, const Counters& after, std::uint64_t payload, Way way,
                  Op op) {
  Observation seen = about(way);
  if (payload < kLeastPayload) {
    seen.reason = fmt::format("{} bytes of payload are too few to be told from others", payload);
    return seen;
  }
  const Expected names = expectedOf(way, op);
  const std::uint64_t device = moved(before, after, names.device, seen.reason);
  const std::uint64_t sends = moved(before, after, names.sends, seen.reason);
  if (!seen.reason.empty()) return seen;
  seen.observed = fmt::format("{} {} and {} {} for {} bytes of payload", names.device, device,
                              names.sends, sends, payload);
  seen.artefact = seen.observed;
  if (isAbout(device, payload) && sends < payload / 10) {
    seen.outcome = Outcome::kDirect;
  } else if (isAbout(sends, payload) && device < payload / 10) {
    seen.outcome = Outcome::kStaged;
    seen.strength = Strength::kDecisive;
    seen.reason = "the operation was emulated by messages through host memory";
  } else {
    seen.outcome = Outcome::kNeutral;
    seen.reason =
        "neither counter moved by the payload: others use the adapter, or it was not used";
  }
  return seen;
}

}  // namespace

Counters readCounters(const fs::path& sys, std::string_view domain) {
  const std::string device(domain.substr(0, domain.rfind('-')));
  Counters counters;
  if (device.empty() || device.find('/') != std::string::npos) return counters;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(sys / "class/infiniband" / device / "ports/1/hw_counters", error)) {
    std::ifstream file(entry.path());
    std::uint64_t value = 0;
    if (counters.size() < kMostCounters && file >> value) {
      counters[entry.path().filename().string()] = value;
    }
  }
  return counters;
}

std::vector<Observation> counterObservations(const Counters& before, const Counters& after,
                                             const Payload& payload, Op op) {
  std::vector<Observation> all;
  if (op == Op::kSend || (before.empty() && after.empty())) return all;
  for (const auto& [way, bytes] : {std::pair{Way::kOut, payload.out}, {Way::kBack, payload.back}}) {
    if (bytes != 0) all.push_back(judge(before, after, bytes, way, op));
  }
  return all;
}

}  // namespace gdrbench::libfabric
