// SPDX-License-Identifier: Apache-2.0
// Logs as several versions write them, and what is concluded from each.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transports/nccl/channel_evidence.h"

namespace gdrbench::nccl {
namespace {

using namespace evidence;

std::string info(const std::string& message) {
  return "node-1:4711:4750 [0] NCCL INFO " + message + "\n";
}

std::string joined(const std::string& version, int rank = 0, int ranks = 2) {
  return info("NCCL version " + version + "+cuda13.0") +
         info("ncclCommInitRankConfig comm 0x55d1 rank " + std::to_string(rank) + " nranks " +
              std::to_string(ranks) +
              " cudaDev 0 nvmlDev 0 busId 3b000 commId 0x1f - Init COMPLETE");
}

struct Run {
  std::string library = "2.28.3";
  int rank = 0;
  bool registrationsLogged = true;
  bool lowLatencyBuffers = false;
  std::vector<std::string> fuses = {};
  std::string noLog = {};
};

std::vector<Observation> concluded(const std::string& log, const Run& run = {}) {
  return channelObservations(parseChannelLog(log), {.rank = run.rank,
                                                    .peer = 1 - run.rank,
                                                    .library = run.library,
                                                    .noLog = run.noLog,
                                                    .registrationsLogged = run.registrationsLogged,
                                                    .lowLatencyBuffers = run.lowLatencyBuffers,
                                                    .fuses = run.fuses});
}

/// That of a way; a default one, of another id, when there is none.
Observation of(const std::vector<Observation>& all, Way way,
               std::string_view id = "nccl.channels") {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Observation& each) {
    return each.way == way && each.id == id;
  });
  return found == all.end() ? Observation{} : *found;
}

bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

/// No log of which anything is decided that is not understood.
void checkNothing(const std::vector<Observation>& all, std::string_view reason) {
  REQUIRE(all.size() == 1);
  CHECK(all[0].outcome == Outcome::kUnavailable);
  CHECK(all[0].way == Way::kBoth);
  CHECK(has(all[0].reason, reason));
}

const std::string kGdr = info("Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA") +
                         info("Channel 01/1 : 0[0] -> 1[1] [send] via NET/IB/1/GDRDMA/Shared") +
                         info("Channel 00/1 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA") +
                         info("Channel 01/1 : 1[1] -> 0[0] [receive] via NET/IB/1/GDRDMA/Shared");

}  // namespace

TEST_CASE("nccl evidence: lines of each version, and what they say of the way out") {
  struct Case {
    const char* version;
    const char* line;
    Outcome outcome;
    Side side;
    const char* reason;
  };
  const Case kCases[] = {
      {"2.18.1", "Channel 00/1 : 0[3b000] -> 1[86000] via P2P/IPC/read", Outcome::kDirect,
       Side::kBoth, ""},
      {"2.18.6", "Channel 00/1 : 0[0] -> 1[1] via P2P/direct pointer", Outcome::kDirect,
       Side::kBoth, ""},
      {"2.18.6", "Channel 02/1 : 0[0] -> 1[1] via P2P/indirect/2[2]/read", Outcome::kDirect,
       Side::kBoth, ""},
      {"2.18.6", "Channel 00 : 0[0] -> 1[1] via SHM/direct/CE", Outcome::kStaged, Side::kBoth,
       "host memory that both ranks map"},
      {"2.18.6", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/Socket/0/Shared", Outcome::kStaged,
       Side::kSource, "buffers in host memory"},
      {"2.21.5", "Channel 00/1 : 0[0] -> 1[1] via P2P/MNNVL", Outcome::kDirect, Side::kBoth, ""},
      {"2.21.5", "Channel 11/1 : 0[0] -> 1[1] via P2P/CUMEM/read/CE", Outcome::kDirect, Side::kBoth,
       ""},
      {"2.21.5", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/3/Shared", Outcome::kStaged,
       Side::kSource, "buffers in host memory"},
      {"2.21.5", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/AWS Libfabric/0(1)/GDRDMA",
       Outcome::kDirect, Side::kSource, ""},
      {"2.28.3", "Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM", Outcome::kDirect, Side::kBoth, ""},
      {"2.28.3", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA(PCI)/Shared",
       Outcome::kDirect, Side::kSource, ""},
      {"2.28.3", "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", Outcome::kStaged, Side::kBoth,
       "host memory that both ranks map"},
      {"2.30.7", "Channel 00 : 0[0] -> 1[1] via SHM/direct", Outcome::kStaged, Side::kBoth,
       "host memory that both ranks map"},
      {"2.30.7", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/Socket/0", Outcome::kStaged,
       Side::kSource, "buffers in host memory"},
      {"2.30.7", "Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/2/GDRDMA", Outcome::kDirect,
       Side::kSource, ""},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.version);
    CAPTURE(each.line);
    const auto all = concluded(joined(each.version) + info(each.line), {.library = each.version});
    const Observation seen = of(all, Way::kOut);
    CHECK(seen.outcome == each.outcome);
    CHECK(seen.strength == Strength::kDecisive);
    CHECK(seen.kind == WitnessClass::kLibrary);
    CHECK(seen.bearing == Bearing::kPath);
    CHECK(seen.side == each.side);
    CHECK(seen.bytes == 0);
    CHECK(has(seen.reason, each.reason));
    CHECK(has(seen.artefact, each.line));
  }
}

TEST_CASE("nccl evidence: with GDRDMA each side decides its own end of both ways") {
  const auto all = concluded(joined("2.28.3") + kGdr);
  REQUIRE(all.size() == 2);
  CHECK(of(all, Way::kOut).outcome == Outcome::kDirect);
  CHECK(of(all, Way::kOut).side == Side::kSource);
  CHECK(of(all, Way::kBack).outcome == Outcome::kDirect);
  CHECK(of(all, Way::kBack).side == Side::kSink);
  CHECK(of(all, Way::kBack).strength == Strength::kDecisive);
  // Without registered buffers the adapter reaches one of NCCL's, in GPU memory.
  CHECK(of(all, Way::kOut).path == PathKind::kGpuStaged);
  CHECK(of(concluded(joined("2.28.3") + kGdr, {.registrationsLogged = false}), Way::kOut).path ==
        PathKind::kNone);
  const std::string registered =
      info("rank 0 - NET register userbuff 0x7f (handle 0x1), buffSize 4096");
  const auto with = concluded(joined("2.28.3") + kGdr + registered);
  CHECK(of(with, Way::kOut).path == PathKind::kNone);
  CHECK(has(of(with, Way::kOut).observed, "1 buffers registered"));
}

TEST_CASE("nccl evidence: half of it direct is told way by way") {
  const auto all =
      concluded(joined("2.21.5") + info("Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/0") +
                    info("Channel 00/1 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA"),
                {.library = "2.21.5"});
  CHECK(of(all, Way::kOut).outcome == Outcome::kStaged);
  CHECK(of(all, Way::kBack).outcome == Outcome::kDirect);
}

TEST_CASE("nccl evidence: the rank decides which lines are out and which are back") {
  const std::string log = joined("2.28.3", 1) +
                          info("Channel 00/1 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA") +
                          info("Channel 00/1 : 0[0] -> 1[1] [receive] via NET/IB/0");
  const auto all = concluded(log, {.rank = 1});
  CHECK(of(all, Way::kOut).outcome == Outcome::kDirect);
  CHECK(of(all, Way::kBack).outcome == Outcome::kStaged);
  CHECK(of(all, Way::kBack).side == Side::kSink);
}

TEST_CASE("nccl evidence: mixed channels are staged, with how many") {
  const auto all =
      concluded(joined("2.28.3") + kGdr + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/IB/2") +
                info("Channel 02/1 : 1[1] -> 0[0] [receive] via NET/IB/2/GDRDMA"));
  CHECK(of(all, Way::kOut).outcome == Outcome::kStaged);
  CHECK(of(all, Way::kOut).strength == Strength::kDecisive);
  CHECK(of(all, Way::kOut).reason == "1 of 3 channels staged");
  CHECK(of(all, Way::kBack).outcome == Outcome::kDirect);
}

TEST_CASE("nccl evidence: channels of collectives carry no message, and do not count") {
  const auto all = concluded(joined("2.28.3") + info("Channel 00/24 :    0   1") +
                             info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0") +
                             info("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM"));
  CHECK(of(all, Way::kOut).outcome == Outcome::kDirect);
  CHECK(has(of(all, Way::kOut).observed, "1 channels of collectives aside"));
  // Unless there are no others: then nothing says that they are not in use.
  const auto only =
      concluded(joined("2.28.3") + info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0"));
  CHECK(of(only, Way::kOut).outcome == Outcome::kStaged);
}

TEST_CASE("nccl evidence: between GPUs of one host the sender alone writes lines") {
  const std::string log = joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM");
  CHECK(concluded(log).size() == 1);  // the way back is the other rank's to tell
  // Both ranks in one process: one log, and each side takes its own lines.
  const std::string both =
      log + joined("2.28.3", 1) + info("Channel 00 : 1[1] -> 0[0] via SHM/direct/direct");
  CHECK(of(concluded(both), Way::kOut).outcome == Outcome::kDirect);
  CHECK(of(concluded(both, {.rank = 1}), Way::kOut).outcome == Outcome::kStaged);
}

TEST_CASE("nccl evidence: what is between is named") {
  const auto indirect =
      concluded(joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] via P2P/indirect/5[5]"));
  CHECK(has(of(indirect, Way::kOut).observed, "through the memory of rank 5's GPU"));
  CHECK(of(indirect, Way::kOut).path == PathKind::kNone);
  const auto proxy = concluded(joined("2.28.3") +
                               info("Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/0(4)/GDRDMA"));
  CHECK(has(of(proxy, Way::kOut).observed, "by the proxy of rank 4"));
  const auto engines =
      concluded(joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] via P2P/IPC/CE"));
  CHECK(has(of(engines, Way::kOut).observed, "by copy engines"));
}

TEST_CASE("nccl evidence: an ability of an adapter is never the path of a message") {
  const std::string able = info("NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'") +
                           info("NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'");
  const auto all = concluded(joined("2.28.3") + able);
  for (const Observation& seen : all) {
    CHECK(seen.outcome != Outcome::kDirect);
    CHECK(seen.outcome != Outcome::kStaged);
  }
  const Observation ability = of(all, Way::kBoth, "nccl.gdr_ability");
  CHECK(ability.kind == WitnessClass::kCapability);
  CHECK(ability.strength == Strength::kWeak);
  CHECK(ability.outcome == Outcome::kNeutral);
  CHECK(has(ability.observed, "enabled for 1 adapters, disabled for 1"));
  CHECK(of(all, Way::kOut).outcome == Outcome::kUnavailable);
}

TEST_CASE("nccl evidence: no line of this pair is unavailable, not direct") {
  const auto all = concluded(joined("2.28.3") + info("Channel 00/1 : 4[4] -> 5[5] via P2P/CUMEM"));
  REQUIRE(all.size() == 2);
  CHECK(of(all, Way::kOut).outcome == Outcome::kUnavailable);
  CHECK(of(all, Way::kOut).side == Side::kSource);
  CHECK(of(all, Way::kOut).reason == "the log has no channel 0 -> 1");
  CHECK(of(all, Way::kBack).side == Side::kSink);
  // Over a network the receiver writes lines of its own: none is a gap.
  const auto half =
      concluded(joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA"));
  CHECK(of(half, Way::kBack).outcome == Outcome::kUnavailable);
}

TEST_CASE("nccl evidence: a log that is not understood says nothing at all") {
  const std::string good = joined("2.28.3") + kGdr;
  struct Case {
    std::string log;
    const char* reason;
  };
  const Case kCases[] = {
      {good.substr(0, good.size() - 1), "cut off"},
      {good.substr(0, good.size() - 20), "cut off"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDR"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA/New"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/IB/0(PCI)"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] via NET/IB/0/GDRDMA"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/Socket/0/GDRDMA"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] [send] via NET/\xff/0/GDRDMA"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] via P2P/QUANTUM"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] via C2C/direct"), "no grammar"},
      {good + info("Channel 02 : 0[0] -> 1[1] via P2P/CUMEM"), "no grammar"},
      {good + info("Channel 02/1 : 0[0] -> 1[1] via SHM/direct/direct"), "no grammar"},
      {good + info("Channel 02/1 : 0 -> 1 via P2P/CUMEM"), "no grammar"},
      {good + info("Channel two"), "no grammar"},
      {good + "a [0] NCCL INFO Channel 02/1 : 0[0] -> a [0] NCCL INFO Channel 03/1\n",
       "no grammar"},
      {good + info("NCCL version 2.27.7+cuda12.8"), "2.28.3 and 2.27.7"},
      {std::string(kMostLog, '\n') + good, "more than"},
      {kGdr, "no communicator of two ranks with rank 0"},
      {joined("2.28.3", 1) + kGdr, "no communicator of two ranks with rank 0"},
      {good + joined("2.28.3", 3, 8), "a communicator of 8 ranks too"},
      {"", "no communicator"},
  };
  for (const Case& each : kCases) {
    checkNothing(concluded(each.log), each.reason);
  }
}

TEST_CASE("nccl evidence: unknown versions, and logs of another library") {
  const std::string log = joined("2.31.1") + kGdr;
  checkNothing(concluded(log, {.library = "2.31.1"}), "lines of NCCL 2.31.1 are not known");
  checkNothing(concluded(joined("2.17.1") + kGdr, {.library = "2.17.1"}), "not known");
  checkNothing(concluded(kGdr, {.library = "three"}), "not known");
  checkNothing(concluded(kGdr, {.library = ""}), "not known");
  checkNothing(concluded(log), "the log is of NCCL 2.31.1, the library is 2.28.3");
  checkNothing(concluded("", {.noLog = "NCCL_DEBUG is the user's"}), "NCCL_DEBUG is the user's");
}

TEST_CASE("nccl evidence: low-latency buffers of a network lie in host memory") {
  const auto all = concluded(joined("2.28.3") + kGdr, {.lowLatencyBuffers = true});
  CHECK(of(all, Way::kOut).outcome == Outcome::kUnavailable);
  CHECK(has(of(all, Way::kOut).reason, "NCCL_ALLOC_P2P_NET_LL_BUFFERS"));
  const auto near = concluded(joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM"),
                              {.lowLatencyBuffers = true});
  CHECK(of(near, Way::kOut).outcome == Outcome::kDirect);
}

TEST_CASE("nccl evidence: a fuse that is out counts where its plugin carries the messages") {
  const Run run{.fuses = {"OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK=1"}};
  const auto plugin = concluded(
      joined("2.28.3") + info("Channel 00/1 : 0[0] -> 1[1] [send] via NET/AWS Libfabric/0/GDRDMA") +
          info("Channel 00/1 : 1[1] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA"),
      run);
  const Observation fuse = of(plugin, Way::kOut, "nccl.fuse");
  CHECK(fuse.bearing == Bearing::kFuse);
  CHECK(fuse.outcome == Outcome::kStaged);
  CHECK(fuse.side == Side::kSource);
  CHECK(has(fuse.observed, "GDR_REQUIRED_CHECK=1"));
  CHECK(of(plugin, Way::kBack, "nccl.fuse").side == Side::kSink);
  for (const Observation& seen : concluded(joined("2.28.3") + kGdr, run)) {
    CHECK(seen.id != "nccl.fuse");
  }
}

TEST_CASE("nccl evidence: artefacts are bounded") {
  std::string log = joined("2.28.3");
  for (int i = 0; i < 200; ++i) {
    log += info("Channel " + std::to_string(i) + "/1 : 0[0] -> 1[1] via P2P/CUMEM");
  }
  const auto all = concluded(log);
  CHECK(of(all, Way::kOut).artefact.size() == kMaxArtefact);
  CHECK(has(of(all, Way::kOut).observed, "200 x P2P/CUMEM"));
  std::string many = joined("2.28.3");
  for (std::size_t i = 0; i <= kMostChannels; ++i) {
    many += info("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM");
  }
  checkNothing(concluded(many), "more than 4096 channels");
}

}  // namespace gdrbench::nccl
