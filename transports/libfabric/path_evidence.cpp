// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/path_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "transports/libfabric/options.h"

namespace gdrbench::libfabric {
namespace {

using namespace evidence;

constexpr std::uint64_t kLargestRealKey = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kNoKey = std::numeric_limits<std::uint64_t>::max();  // FI_KEY_NOTAVAIL
/// In which prov/efa/src/rdm/efa_rdm_mr.c was read.
constexpr std::pair kOldestKeys{1u, 18u}, kNewestKeys{2u, 6u};
/// Every message of it is received through a buffer in host memory.
constexpr std::uint64_t kSurelyEager = 4096;

constexpr std::string_view kFrozenPeer = "a one-sided message to a stopped peer would settle it";

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool isRealKey(std::uint64_t key) {
  return key <= kLargestRealKey;
}

/// This side's own memory: its source on the way out, its target on the way back.
struct Unit {
  Way way;
  Side side;
  std::uint64_t key;
};

std::vector<Unit> unitsOf(const PathFacts& facts) {
  return {{Way::kOut, Side::kSource, facts.mine.sourceKey},
          {Way::kBack, Side::kSink, facts.mine.targetKey}};
}

struct Words {
  std::string_view direct, staged;
};

Observation about(const Unit& unit, std::string id, WitnessClass kind, const Words& words) {
  return {.id = "libfabric." + std::move(id),
          .kind = kind,
          .way = unit.way,
          .side = unit.side,
          .outcome = Outcome::kUnavailable,
          .strength = Strength::kWeak,
          .observed = {},
          .ifDirect = std::string(words.direct),
          .ifStaged = std::string(words.staged),
          .reason = {},
          .control = {},
          .privilege = "none",
          .artefact = {}};
}

Observation decided(Observation seen, Outcome outcome, Strength strength, std::string observed,
                    std::string reason = {}) {
  seen.outcome = outcome;
  seen.strength = strength;
  seen.observed = std::move(observed);
  seen.reason = std::move(reason);
  return seen;
}

Observation unavailable(Observation seen, std::string reason) {
  seen.reason = std::move(reason);
  return seen;
}

// --- of every provider

void addOffer(std::vector<Observation>& all, const PathFacts& facts) {
  const Unit both{Way::kBoth, Side::kBoth, 0};
  constexpr Words kWords{"FI_HMEM granted", "FI_HMEM granted all the same by some providers"};
  Observation seen = about(both, "hmem", WitnessClass::kCapability, kWords);
  all.push_back(decided(std::move(seen), Outcome::kNeutral, Strength::kWeak,
                        facts.offersGpuMemory ? "FI_HMEM is in the capabilities"
                                              : "FI_HMEM is not in the capabilities",
                        "a capability is not the path of a message"));
}

/// Only efa gives these options a meaning that bears upon the path: cxi answers for gdrcopy, rxm
/// for something else, verbs, ucx and opx always say yes.
void addSilentOptions(std::vector<Observation>& all, const PathFacts& facts) {
  const Unit both{Way::kBoth, Side::kBoth, 0};
  constexpr Words kWords{"the option accepted", "the option refused"};
  Observation seen = about(both, "options", WitnessClass::kLibrary, kWords);
  all.push_back(
      unavailable(std::move(seen),
                  fmt::format("what provider {} answers to FI_OPT_FI_HMEM_P2P (FI_ENOPROTOOPT) and "
                              "FI_OPT_CUDA_API_PERMITTED says nothing about the path",
                              facts.provider)));
}

// --- sockets

void addSockets(std::vector<Observation>& all, const PathFacts& facts) {
  constexpr Words kWords{"nothing: there is no direct path", "the kernel's sockets"};
  for (const Unit& unit : unitsOf(facts)) {
    all.push_back(decided(about(unit, "sockets", WitnessClass::kConstruction, kWords),
                          Outcome::kStaged, Strength::kDecisive,
                          fmt::format("provider {}", facts.provider),
                          "the kernel sends and receives pages of the host: GPU memory is copied "
                          "before and after"));
  }
}

// --- efa

bool keysAreKnown(const PathFacts& facts) {
  return facts.library >= kOldestKeys && facts.library <= kNewestKeys;
}

constexpr Words kKeyWords{"a key of 32 bits, as adapters have", "a key above 32 bits, made up"};

/// A region that the adapter does not know gets a key of the provider's own, from 2^32 on. True:
/// this settled the unit.
bool addKey(std::vector<Observation>& all, const PathFacts& facts, const Unit& unit) {
  if (isRealKey(unit.key)) return false;
  Observation seen = about(unit, "mr_key", WitnessClass::kLibrary, kKeyWords);
  seen.artefact = fmt::format("key {:#x}", unit.key);
  if (unit.key == kNoKey) {
    all.push_back(unavailable(std::move(seen), "the region has no key"));
  } else if (!keysAreKnown(facts)) {
    all.push_back(
        unavailable(std::move(seen),
                    fmt::format("the meaning of keys is known for libfabric {}.{} to "
                                "{}.{} only, this is {}.{}",
                                kOldestKeys.first, kOldestKeys.second, kNewestKeys.first,
                                kNewestKeys.second, facts.library.first, facts.library.second)));
  } else {
    const std::string observed = fmt::format("key {:#x} of GPU memory", unit.key);
    all.push_back(decided(std::move(seen), Outcome::kStaged, Strength::kDecisive, observed,
                          "the adapter does not know this memory: the provider copies through its "
                          "own"));
  }
  return true;
}

bool addRefusal(std::vector<Observation>& all, const PathFacts& facts, const Unit& unit) {
  const bool noPeerToPeer = facts.mine.peerToPeerRequired == Answer::kRefused;
  if (!noPeerToPeer && facts.cudaCallsForbidden != Answer::kRefused) return false;
  constexpr Words kWords{"accepted", "refused (FI_EOPNOTSUPP)"};
  all.push_back(decided(
      about(unit, "p2p_required", WitnessClass::kLibrary, kWords), Outcome::kStaged,
      Strength::kDecisive,
      noPeerToPeer ? "FI_HMEM_P2P_REQUIRED refused" : "FI_OPT_CUDA_API_PERMITTED false refused",
      "there is no peer-to-peer between adapter and GPU, or it is switched off"));
  return true;
}

std::optional<bool> emulates(const SideFacts& side, Op op) {
  return op == Op::kRead ? side.emulatesRead : side.emulatesWrite;
}

/// What one end can say for itself; empty: nothing is missing.
std::string missingOf(const SideFacts& side, Op op, std::string_view whose) {
  if (side.onGpu && side.peerToPeerRequired != Answer::kAccepted) {
    return fmt::format("{} FI_HMEM_P2P_REQUIRED was not accepted", whose);
  }
  if (side.onGpu && (!isRealKey(side.sourceKey) || !isRealKey(side.targetKey))) {
    return fmt::format("{} memory is not registered with the adapter", whose);
  }
  if (op != Op::kSend && emulates(side, op).value_or(true)) {
    return fmt::format("{} side emulates the operation, or does not say", whose);
  }
  return {};
}

const Observation* countedOn(const PathFacts& facts, Way way) {
  for (const Observation& each : facts.counters) {
    if (each.way == way) return &each;
  }
  return nullptr;
}

constexpr Words kDeviceWords{
    "peer-to-peer required, no emulation and keys of the adapter on both sides, and its counters",
    "an emulated operation, or keys made up"};

void addDeviceRma(std::vector<Observation>& all, const PathFacts& facts, const Unit& unit) {
  Observation seen = about(unit, "device_rma", WitnessClass::kLibrary, kDeviceWords);
  std::string missing = missingOf(facts.mine, facts.op, "this side's");
  if (missing.empty()) missing = missingOf(facts.peers, facts.op, "the peer's");
  if (!missing.empty()) {
    all.push_back(unavailable(std::move(seen), std::move(missing)));
    return;
  }
  const Observation* counted = countedOn(facts, unit.way);
  const bool identity = counted != nullptr && counted->outcome == Outcome::kDirect;
  if (identity) seen.artefact = counted->artefact;
  all.push_back(decided(
      std::move(seen), Outcome::kDirect, identity ? Strength::kDecisive : Strength::kStrong,
      fmt::format(
          "both sides: peer-to-peer required, operation not emulated, keys of the adapter{}",
          identity ? "; its counters moved by the payload" : ""),
      identity ? ""
               : "without the adapter's counters this shows what would be done, not what was"));
}

/// A message arrives in the provider's own buffers in host memory; only the large ones are fetched
/// by reads of the device.
void addEfaMessages(std::vector<Observation>& all, const PathFacts& facts, const Unit& unit) {
  constexpr Words kWords{"a read of the device", "a buffer of the provider in host memory"};
  Observation seen = about(unit, "messages", WitnessClass::kConstruction, kWords);
  if (unit.side == Side::kSource) {
    all.push_back(decided(std::move(seen), Outcome::kDirect, Strength::kStrong,
                          "a registered source, of which the adapter reads",
                          "small messages may be copied in line all the same"));
  } else if (facts.messageBytes <= kSurelyEager) {
    seen.bytes = facts.messageBytes;
    all.push_back(decided(std::move(seen), Outcome::kStaged, Strength::kDecisive,
                          fmt::format("messages of {} bytes, sent eagerly", facts.messageBytes),
                          "the provider receives them in host memory and copies to the GPU"));
  } else {
    all.push_back(unavailable(std::move(seen),
                              "which part went through host memory depends on the protocol that "
                              "the provider chose"));
  }
}

void addEfa(std::vector<Observation>& all, const PathFacts& facts) {
  for (const Unit& unit : unitsOf(facts)) {
    if (addKey(all, facts, unit) || addRefusal(all, facts, unit)) continue;
    if (facts.op == Op::kSend) {
      addEfaMessages(all, facts, unit);
    } else {
      addDeviceRma(all, facts, unit);
    }
  }
}

/// Each operation is one work request to the adapter, which refuses what it cannot reach
/// (prov/efa/src/efa_rma.c, efa_msg.c).
void addEfaDirect(std::vector<Observation>& all, const PathFacts& facts) {
  constexpr Words kWords{"the fabric efa-direct", "the fabric efa, which may copy"};
  for (const Unit& unit : unitsOf(facts)) {
    if (addKey(all, facts, unit)) continue;
    all.push_back(decided(about(unit, "efa_direct", WitnessClass::kConstruction, kWords),
                          Outcome::kDirect, Strength::kDecisive,
                          fmt::format("fabric efa-direct, GPU memory as {}, key {:#x}",
                                      facts.registration, unit.key)));
  }
}

// --- verbs, alone or under ofi_rxm

void addRxmMessages(std::vector<Observation>& all, const PathFacts& facts, const Unit& unit) {
  constexpr Words kWords{"a rendezvous: the adapter reads the source", "buffers of ofi_rxm"};
  Observation seen = about(unit, "rxm_messages", WitnessClass::kConstruction, kWords);
  seen.bytes = facts.messageBytes;
  const bool eager = facts.messageBytes <= facts.eagerBytes;
  all.push_back(
      decided(std::move(seen), Outcome::kStaged, eager ? Strength::kDecisive : Strength::kStrong,
              fmt::format("messages of {} bytes, below the limit of {}", facts.messageBytes,
                          eager ? facts.eagerBytes : facts.segmentedBytes),
              "ofi_rxm copies them to and from buffers of its own in host memory"));
}

void addVerbs(std::vector<Observation>& all, const PathFacts& facts) {
  const bool copied = facts.op == Op::kSend && facts.messageBytes <= facts.segmentedBytes &&
                      facts.provider.find(";ofi_rxm") != std::string::npos;
  constexpr Words kWords{"a region of GPU memory, registered with the adapter",
                         "a region of host memory"};
  for (const Unit& unit : unitsOf(facts)) {
    if (copied) {
      addRxmMessages(all, facts, unit);
      continue;
    }
    all.push_back(decided(
        about(unit, "registration", WitnessClass::kLibrary, kWords), Outcome::kDirect,
        Strength::kStrong,
        fmt::format("provider {} registered GPU memory as {}", facts.provider, facts.registration),
        fmt::format("what the provider then posts is not seen here; {}", kFrozenPeer)));
  }
}

// --- those that do not tell

void addShared(std::vector<Observation>& all, const PathFacts& facts) {
  const Unit both{Way::kBoth, Side::kBoth, 0};
  constexpr Words kWords{"CUDA IPC: one copy from GPU to GPU",
                         "segments in host memory that both processes map"};
  Observation seen = about(both, "shared_memory", WitnessClass::kLibrary, kWords);
  all.push_back(
      decided(std::move(seen), Outcome::kNeutral, Strength::kWeak,
              fmt::format("provider {}, GPU memory as {}", facts.provider, facts.registration),
              "the provider takes either and does not say which: copies that are "
              "recorded and counters of the links do"));
}

void addPsm3(std::vector<Observation>& all, const PathFacts& facts) {
  constexpr Words kWords{"PSM3_GPUDIRECT=1", "PSM3_GPUDIRECT not set, or 0"};
  const bool asked = !facts.psm3GpuDirect.empty() && facts.psm3GpuDirect != "0";
  for (const Unit& unit : unitsOf(facts)) {
    Observation seen = about(unit, "psm3_gpudirect", WitnessClass::kLibrary, kWords);
    if (asked) {
      all.push_back(unavailable(std::move(seen),
                                "limits by size still send some messages through host memory: "
                                "PSM3_PRINT_STATS tells the bytes of each way"));
    } else {
      all.push_back(decided(std::move(seen), Outcome::kStaged, Strength::kStrong,
                            "GPUDirect is not switched on",
                            "the provider copies through host "
                            "memory by default"));
    }
  }
}

void addOther(std::vector<Observation>& all, const PathFacts& facts) {
  constexpr Words kWords{"nothing that is known", "nothing that is known"};
  for (const Unit& unit : unitsOf(facts)) {
    all.push_back(unavailable(about(unit, "provider", WitnessClass::kLibrary, kWords),
                              fmt::format("provider {} does not tell how it moves GPU memory; {}",
                                          facts.provider, kFrozenPeer)));
  }
}

}  // namespace

std::vector<Observation> pathObservations(const PathFacts& facts) {
  std::vector<Observation> all;
  if (!facts.mine.onGpu) return all;
  addOffer(all, facts);
  const std::string_view core = coreOf(facts.provider);
  if (core == "efa") {
    facts.fabric == "efa-direct" ? addEfaDirect(all, facts) : addEfa(all, facts);
    all.insert(all.end(), facts.counters.begin(), facts.counters.end());
    return all;
  }
  addSilentOptions(all, facts);
  if (isOneOf(core, {"tcp", "sockets", "udp", "net"})) {
    addSockets(all, facts);
  } else if (isOneOf(core, {"shm", "sm2"})) {
    addShared(all, facts);
  } else if (core == "verbs") {
    addVerbs(all, facts);
  } else if (core == "psm3") {
    addPsm3(all, facts);
  } else {
    addOther(all, facts);
  }
  return all;
}

}  // namespace gdrbench::libfabric
