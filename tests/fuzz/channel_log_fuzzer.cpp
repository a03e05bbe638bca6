// SPDX-License-Identifier: Apache-2.0
// Any text for a debug log: what is read from it stays within its bounds, and nothing is concluded
// from a log with a problem.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "transports/nccl/channel_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gdrbench;
  const auto log = nccl::parseChannelLog({reinterpret_cast<const char*>(data), size});
  if (log.channels.size() > nccl::kMostChannels) std::abort();
  for (const nccl::Channel& channel : log.channels) {
    if (channel.line.size() > nccl::kMostLine || channel.kind.empty()) std::abort();
  }
  const auto all = nccl::channelObservations(
      log, {.library = log.version.empty() ? "2.28.3" : log.version, .noLog = {}, .fuses = {}});
  if (all.empty()) std::abort();
  for (const evidence::Observation& seen : all) {
    if (seen.artefact.size() > evidence::kMaxArtefact) std::abort();
    const bool decides =
        seen.outcome == evidence::Outcome::kDirect || seen.outcome == evidence::Outcome::kStaged;
    if (decides && !log.problem.empty()) std::abort();
  }
  return 0;
}
