// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/channel_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gdrbench::nccl {
namespace {

using namespace evidence;

/// Whose lines were read in NCCL's source: src/transport/{p2p,shm,net}.cc.
constexpr std::pair kOldestGrammar{2, 18}, kNewest{2, 30};

/// aws-ofi-nccl refuses to start where GPUDirect or native RDMA must be there and is not, unless
/// told not to (platform-aws.cpp).
constexpr const char* kFuses[] = {"OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK",
                                  "OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK"};

/// One direction, as this side's log has it.
struct Direction {
  Way way = Way::kOut;
  int from = 0, to = 0;
  std::vector<Channel> channels;
  int others = 0;  ///< channels of collectives, which carry no message of this benchmark
};

bool isDirect(const Channel& channel) {
  return channel.medium == Medium::kP2p || channel.gpuDirect;
}

bool anyOf(const Direction& direction, Medium medium) {
  return std::any_of(direction.channels.begin(), direction.channels.end(),
                     [&](const Channel& each) { return each.medium == medium; });
}

/// A network's line speaks for who wrote it; the others are written by the sender alone and speak
/// for both ends.
Side sideOf(const Direction& direction) {
  if (!anyOf(direction, Medium::kNet)) return Side::kBoth;
  return direction.way == Way::kOut ? Side::kSource : Side::kSink;
}

Observation about(Way way, Side side) {
  return {.id = "nccl.channels",
          .kind = WitnessClass::kLibrary,
          .way = way,
          .side = side,
          .outcome = Outcome::kUnavailable,
          .strength = Strength::kDecisive,
          .observed = {},
          .ifDirect = "P2P, or NET with GDRDMA, on every channel",
          .ifStaged = "SHM, NET/Socket or NET without GDRDMA",
          .reason = {},
          .control = {},
          .privilege = "none",
          .artefact = {}};
}

Observation unavailable(Way way, Side side, std::string reason) {
  Observation seen = about(way, side);
  seen.reason = std::move(reason);
  return seen;
}

std::string linesOf(const Direction& direction) {
  std::string text;
  for (const Channel& channel : direction.channels) text += channel.line + "\n";
  return text.substr(0, kMaxArtefact);
}

Direction directionOf(const ChannelLog& log, Way way, int from, int to) {
  Direction direction{.way = way, .from = from, .to = to, .channels = {}};
  for (const Channel& channel : log.channels) {
    if (channel.from != from || channel.to != to) continue;
    if (channel.byReceiver != (way == Way::kBack)) continue;
    direction.channels.push_back(channel);
  }
  // ncclSend and ncclRecv have connections of their own.
  auto& all = direction.channels;
  const auto isOwn = [](const Channel& each) { return each.connection == 1; };
  if (std::any_of(all.begin(), all.end(), isOwn)) {
    direction.others = static_cast<int>(
        std::erase_if(all, [](const Channel& each) { return each.connection == 0; }));
  }
  return direction;
}

std::string whyStaged(const Direction& direction, std::size_t staged) {
  const std::size_t all = direction.channels.size();
  if (staged != all) return fmt::format("{} of {} channels staged", staged, all);
  if (!anyOf(direction, Medium::kNet)) return "copied through host memory that both ranks map";
  return "the network reads and writes buffers in host memory";
}

std::string notesOf(const Direction& direction, const ChannelLog& log) {
  std::string notes;
  const auto note = [&](std::string text) { notes += "; " + std::move(text); };
  for (const Channel& channel : direction.channels) {
    if (channel.through < 0) continue;
    note(channel.medium == Medium::kNet
             ? fmt::format("by the proxy of rank {}", channel.through)
             : fmt::format("through the memory of rank {}'s GPU", channel.through));
    break;
  }
  if (std::any_of(direction.channels.begin(), direction.channels.end(),
                  [](const Channel& each) { return each.copyEngine; })) {
    note("by copy engines");
  }
  if (anyOf(direction, Medium::kNet) && log.buffersRegistered > 0) {
    note(fmt::format("{} buffers registered with the network", log.buffersRegistered));
  }
  if (direction.others > 0) note(fmt::format("{} channels of collectives aside", direction.others));
  return notes;
}

Observation judge(const Direction& direction, const ChannelLog& log, const ChannelFacts& facts) {
  const Side side = sideOf(direction);
  const auto& channels = direction.channels;
  const auto staged = static_cast<std::size_t>(
      std::count_if(channels.begin(), channels.end(), [](const auto& c) { return !isDirect(c); }));
  const bool byNetwork = anyOf(direction, Medium::kNet);
  Observation seen = about(direction.way, side);
  seen.observed = fmt::format("{} -> {}: {}{}", direction.from, direction.to, countsOf(channels),
                              notesOf(direction, log));
  seen.artefact = linesOf(direction);
  if (staged != 0) {
    seen.outcome = Outcome::kStaged;
    seen.reason = whyStaged(direction, staged);
  } else if (byNetwork && facts.lowLatencyBuffers) {
    seen.reason =
        "NCCL_ALLOC_P2P_NET_LL_BUFFERS is set: small messages leave from host memory all "
        "the same; unset it";
  } else {
    seen.outcome = Outcome::kDirect;
    // The adapter reaches a buffer of NCCL's in GPU memory, and a kernel copies from there.
    const bool copied = byNetwork && facts.registrationsLogged && log.buffersRegistered == 0;
    if (copied) seen.path = PathKind::kGpuStaged;
  }
  return seen;
}

/// A plugin other than NCCL's own networks.
bool byPlugin(const Direction& direction) {
  return std::any_of(direction.channels.begin(), direction.channels.end(), [](const Channel& each) {
    return each.medium == Medium::kNet && each.kind != "IB" && each.kind != "Socket";
  });
}

void addFuses(std::vector<Observation>& all, const Direction& direction,
              const ChannelFacts& facts) {
  if (!byPlugin(direction)) return;
  for (const std::string& fuse : facts.fuses) {
    Observation seen = about(direction.way, sideOf(direction));
    seen.id = "nccl.fuse";
    seen.bearing = Bearing::kFuse;
    seen.outcome = Outcome::kStaged;
    seen.strength = Strength::kStrong;
    seen.observed = fuse;
    seen.ifDirect = "the plugin's check left in place";
    seen.ifStaged = "the plugin's check taken out";
    seen.reason = "the plugin would have refused to start without GPUDirect";
    all.push_back(std::move(seen));
  }
}

/// Of the adapter, and of no message.
void addAbility(std::vector<Observation>& all, const ChannelLog& log) {
  if (log.adaptersAble + log.adaptersUnable == 0) return;
  Observation seen = about(Way::kBoth, Side::kBoth);
  seen.id = "nccl.gdr_ability";
  seen.kind = WitnessClass::kCapability;
  seen.outcome = Outcome::kNeutral;
  seen.strength = Strength::kWeak;
  seen.observed = fmt::format("GPU Direct RDMA enabled for {} adapters, disabled for {}",
                              log.adaptersAble, log.adaptersUnable);
  seen.ifDirect = seen.ifStaged = "enabled: an ability of the adapter, not the path of a message";
  seen.artefact = log.ability;
  all.push_back(std::move(seen));
}

bool isKnown(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return false;
  const std::pair asked{major, minor};
  return asked >= kOldestGrammar && asked <= kNewest;
}

/// Why no line may be believed; empty: they may.
std::string refusal(const ChannelLog& log, const ChannelFacts& facts) {
  if (!facts.noLog.empty()) return facts.noLog;
  if (!isKnown(facts.library)) {
    return fmt::format("lines of NCCL {} are not known: those of {}.{} to {}.{} are", facts.library,
                       kOldestGrammar.first, kOldestGrammar.second, kNewest.first, kNewest.second);
  }
  if (!log.problem.empty()) return "NCCL's log cannot be used: " + log.problem;
  if (!log.version.empty() && log.version != facts.library) {
    return fmt::format("the log is of NCCL {}, the library is {}", log.version, facts.library);
  }
  bool ours = false;
  for (const Joined& joined : log.communicators) {
    if (joined.ranks != 2) {
      return fmt::format("the log has a communicator of {} ranks too, whose lines look alike",
                         joined.ranks);
    }
    ours = ours || joined.rank == facts.rank;
  }
  if (ours) return {};
  return fmt::format("the log names no communicator of two ranks with rank {}", facts.rank);
}

}  // namespace

void readEnvironment(ChannelFacts& facts) {
  const auto valueOf = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr || std::string_view(value) == "0" ? "" : value);
  };
  facts.lowLatencyBuffers = !valueOf("NCCL_ALLOC_P2P_NET_LL_BUFFERS").empty();
  for (const char* fuse : kFuses) {
    if (const std::string value = valueOf(fuse); !value.empty()) {
      facts.fuses.push_back(fmt::format("{}={}", fuse, value));
    }
  }
}

std::vector<Observation> channelObservations(const ChannelLog& log, const ChannelFacts& facts) {
  if (const std::string why = refusal(log, facts); !why.empty()) {
    return {unavailable(Way::kBoth, Side::kBoth, why)};
  }
  const Direction out = directionOf(log, Way::kOut, facts.rank, facts.peer);
  const Direction back = directionOf(log, Way::kBack, facts.peer, facts.rank);
  std::vector<Observation> all;
  for (const Direction* direction : {&out, &back}) {
    if (!direction->channels.empty()) {
      all.push_back(judge(*direction, log, facts));
      addFuses(all, *direction, facts);
      continue;
    }
    // Without a network only the sender writes a line: the other rank tells of the way back.
    const bool sender = direction == &out;
    if (!sender && !out.channels.empty() && !anyOf(out, Medium::kNet)) continue;
    all.push_back(unavailable(
        direction->way, sender ? Side::kSource : Side::kSink,
        fmt::format("the log has no channel {} -> {}", direction->from, direction->to)));
  }
  addAbility(all, log);
  return all;
}

}  // namespace gdrbench::nccl
