// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/options.h"

namespace gdrbench::nccl {
namespace {

constexpr std::string_view kDrives[] = {"host", "stream"};
constexpr std::string_view kRegistrations[] = {"none", "comm"};

constexpr Option kOptions[] = {
    {.name = "drive",
     .type = OptionType::kChoice,
     .fallback = "host",
     .choices = kDrives,
     .help =
         "host: the CPU launches each message and awaits its event; stream: a block is enqueued "
         "at once and timed by GPU events in stream order"},
    {.name = "graph",
     .type = OptionType::kBool,
     .fallback = "false",
     .help = "capture each block as a CUDA graph and launch that; with drive: stream"},
    {.name = "registration",
     .type = OptionType::kChoice,
     .fallback = "none",
     .choices = kRegistrations,
     .help =
         "comm: buffers are registered with ncclCommRegister, and allocated so that NCCL can use "
         "them without copies of its own"},
    {.name = "blocking",
     .type = OptionType::kBool,
     .fallback = "true",
     .help = "false: a non-blocking communicator, whose groups NCCL hands to a thread of its own; "
             "true: groups are launched by the caller"},
    {.name = "processes",
     .type = OptionType::kInteger,
     .fallback = "2",
     .min = 1,
     .max = 2,
     .help = "2: a process for each GPU; 1: both ranks are threads of one process"},
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const OptionSet& options) {
  return {.memory = {MemoryKind::kCuda},
          .flow = DataFlow::kPush,
          .drive = options.text("drive") == "stream" ? Drive::kStream : Drive::kHost,
          .needsVmm = options.text("registration") == "comm",
          .oneProcess = options.integer("processes") == 1,
          .peerMustRun = true,
          .operation = "ncclSend/ncclRecv"};
}

Status validate(const OptionSet& options) {
  if (options.text("drive") == "stream" && !options.flag("blocking")) {
    return Error{.code = ErrorCode::kConfig,
                 .tried = "blocking: another thread would enqueue on the stream that is timed",
                 .next = "leave blocking: true with drive: stream"};
  }
  if (!options.flag("graph") || options.text("drive") == "stream") return Done{};
  return Error{.code = ErrorCode::kConfig,
               .tried = "graph: a captured graph has no event for each message",
               .next = "write drive: stream beside graph: true"};
}

std::string label(const OptionSet& options) {
  std::string text = "nccl";
  if (options.text("registration") == "comm") text += ":registered";
  if (options.flag("graph")) {
    text += ":graph";
  } else if (options.text("drive") == "stream") {
    text += ":stream";
  }
  if (!options.flag("blocking")) text += ":non-blocking";
  if (options.integer("processes") == 1) text += ":1-process";
  return text;
}

/// Between GPUs of one host: without peer access NCCL goes through shared host memory.
std::vector<EnvironmentSetting> libraryStaged(const OptionSet&) {
  return {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NET_GDR_LEVEL", "LOC"}};
}

}  // namespace gdrbench::nccl
