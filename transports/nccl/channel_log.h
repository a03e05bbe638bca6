// SPDX-License-Identifier: Apache-2.0
// The channel lines of NCCL's debug log: by what each connection between two ranks goes. The log is
// no interface and its lines differ by version; what does not fit the grammars of 2.18 to 2.30
// exactly is a problem of the whole log, never a guess.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gdrbench::nccl {

enum class Medium {
  kP2p,  ///< one GPU uses the other's memory
  kShm,  ///< host memory that both processes map
  kNet   ///< a network plugin
};

struct Channel {
  /// 1: of ncclSend and ncclRecv (src/enqueue.cc, connIndex); 0: of collectives; -1: not in the
  /// line (shared memory).
  int connection = -1;
  int from = 0, to = 0;
  bool byReceiver = false;  ///< the receiver wrote this line; else the sender
  Medium medium = Medium::kP2p;
  std::string kind = {};  ///< "CUMEM", "direct pointer", "direct/direct", "IB"
  bool gpuDirect = false;
  bool copyEngine = false;
  int through = -1;       ///< the rank between, where there is one
  std::string via = {};   ///< all behind "via"
  std::string line = {};  ///< from "Channel" on
};

/// A communicator that was joined.
struct Joined {
  int rank = 0, ranks = 0;
};

struct ChannelLog {
  std::string version;  ///< "2.28.3"; empty: only rank 0 logs it
  std::vector<Joined> communicators;
  std::vector<Channel> channels;
  int buffersRegistered = 0;  ///< "NET register userbuff", of 2.23 and newer
  int adaptersAble = 0, adaptersUnable = 0;
  std::string ability;  ///< the first line that tells of an adapter's ability
  std::string problem;  ///< why nothing here may be used; empty: all lines were understood
};

/// Larger logs and longer lines are not looked at. NCCL writes lines of up to 1024 bytes.
inline constexpr std::size_t kMostLog = std::size_t{4} << 20;
inline constexpr std::size_t kMostLine = 2048;
inline constexpr std::size_t kMostChannels = 4096;

ChannelLog parseChannelLog(std::string_view text);

/// "24 x P2P/CUMEM, 2 x SHM/direct".
std::string countsOf(const std::vector<Channel>& channels);

}  // namespace gdrbench::nccl
