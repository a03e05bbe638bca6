// SPDX-License-Identifier: Apache-2.0
#include "harness/run/options.h"

#include "harness/measure/stopping_rule.h"
#include "harness/patterns/pattern.h"

namespace gdrbench {
namespace {

constexpr std::string_view kPaths[] = {"direct", "staged", "library-staged"};
constexpr std::string_view kCudaMemory[] = {"auto", "malloc", "vmm"};
constexpr std::string_view kWitness[] = {"auto", "off", "free", "full"};
constexpr std::string_view kRequire[] = {"any", "direct", "staged"};
constexpr std::string_view kPairsAtOnce[] = {"one", "disjoint"};
constexpr std::string_view kVerify[] = {"all", "sample", "off"};

constexpr Option kRunOptions[] = {
    {.name = "name",
     .fallback = "run",
     .help = "of this configuration; part of the output folder's name"},
    {.name = "paths",
     .type = OptionType::kChoice,
     .fallback = "direct",
     .choices = kPaths,
     .list = true,
     .help =
         "direct: the transport works on the memory itself; staged: gdrbench copies through host "
         "memory; library-staged: the library is told to"},
    {.name = "cuda_memory",
     .type = OptionType::kChoice,
     .fallback = "auto",
     .choices = kCudaMemory,
     .help = "how GPU memory is allocated: malloc (cuMemAlloc), vmm (cuMemCreate: exportable and "
             "marked for GPUDirect RDMA), auto (malloc, or vmm where a transport needs it)"},
    {.name = "pairs_at_once",
     .type = OptionType::kChoice,
     .fallback = "one",
     .choices = kPairsAtOnce,
     .list = true,
     .help =
         "of several pairs of memory: one after the other, or in rounds of pairs that have no GPU "
         "in common, all pairs of a round at the same time and for the same time (warmup.max_time, "
         "stop.max_time; not with stop.iterations); both, to see what they cost each other. A GPU "
         "has "
         "to go by one name"},
    {.name = "rounds",
     .type = OptionType::kInteger,
     .fallback = "3",
     .min = 1,
     .max = 1000,
     .help = "how often every case is run anew, with new processes, connections and buffers"},
    {.name = "verify",
     .type = OptionType::kChoice,
     .fallback = "all",
     .choices = kVerify,
     .help = "which messages are compared byte by byte with what was sent: all, the last ones of "
             "each block (sample), none (off)"},
    {.name = "witness",
     .type = OptionType::kChoice,
     .fallback = "auto",
     .choices = kWitness,
     .help = "who watches the path: free (counters and logs, read before and after), full (another "
             "short run of each row with all witnesses, after controls whose path is known), auto "
             "(full for rows with GPU memory, free for others), off (nothing is proved)"},
    {.name = "require",
     .type = OptionType::kChoice,
     .fallback = "any",
     .choices = kRequire,
     .help = "the verdict that every row must have; otherwise exit 3"},
    {.name = "timeout",
     .type = OptionType::kDuration,
     .fallback = "60s",
     .min = 1e6,
     .max = 86400e9,
     .help = "for one run of one case, set-up included"},
    {.name = "base",
     .fallback = "",
     .help = "label of the transport that ratios refer to; default: the first that moves bytes"},
    {.name = "raw_samples",
     .type = OptionType::kInteger,
     .fallback = "262144",
     .min = 0,
     .max = 1048576,
     .help = "how many of the first latency samples of each run are kept in a file"},
};

constexpr Option kTransportOptions[] = {
    {.name = "paths",
     .type = OptionType::kChoice,
     .choices = kPaths,
     .list = true,
     .help = "for this transport, in place of the configuration's paths"},
};

constexpr Option kCpuOptions[] = {
    {.name = "initiator",
     .type = OptionType::kInteger,
     .min = 0,
     .max = 8191,
     .help = "CPU of the initiator; default: the first that may be used"},
    {.name = "responder",
     .type = OptionType::kInteger,
     .min = 0,
     .max = 8191,
     .help = "CPU of the responder; default: one on another core"},
};

constexpr Option kExpectOptions[] = {
    {.name = "min_GBps",
     .type = OptionType::kNumber,
     .min = 0,
     .help = "every stream row must reach so many GB/s (10^9 bytes per second); otherwise exit 3"},
    {.name = "max_p50",
     .type = OptionType::kDuration,
     .min = 1,
     .help = "no ping-pong row may have a higher latency p50 (half round trip); otherwise exit 3"},
    {.name = "max_p99",
     .type = OptionType::kDuration,
     .min = 1,
     .help = "no ping-pong row may have a higher latency p99 (half round trip); otherwise exit 3"},
};

}  // namespace

config::Catalogue catalogue(const Registry& registry) {
  config::Catalogue all;
  all.run = kRunOptions;
  all.everyTransport = kTransportOptions;
  all.groups = {
      {"stop", "When a measurement has enough.", stopOptions()},
      {"warmup", "Before a measurement: until it is steady.", warmupOptions()},
      {"cpus", "Where the two sides run. Each is pinned to one CPU.", kCpuOptions},
      {"expect", "What the results must be.", kExpectOptions},
  };
  if (!registry.staging().options.empty()) {
    all.groups.push_back({"staging",
                          "The path staged: device to pinned host memory, wire, pinned host memory "
                          "to device, in chunks.",
                          registry.staging().options});
  }
  for (const TransportEntry& entry : registry.entries()) {
    all.transports.push_back({entry.name, entry.summary, entry.options});
  }
  for (const PatternEntry& entry : patternEntries()) {
    all.patterns.push_back({entry.name, entry.summary, entry.options});
  }
  return all;
}

}  // namespace gdrbench
