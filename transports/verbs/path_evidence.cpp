// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/path_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gdrbench::verbs {
namespace {

using namespace evidence;

/// The name under which NVIDIA's driver exports GPU memory (kernel-open/nvidia/nv-dmabuf.c).
constexpr std::string_view kGpuExporter = "nv_dmabuf";
constexpr std::size_t kMostFdInfo = 4096;

std::string textOf(const RegionFacts& region) {
  switch (region.registration) {
    case Registration::kHost:
      return fmt::format("{} bytes of host memory", region.bytes);
    case Registration::kDmaBuf:
      return fmt::format("{} bytes at offset {} of a dma-buf of {} bytes exported by {}",
                         region.bytes, region.offset, region.exportedBytes,
                         region.exporter.empty() ? "somebody unknown" : region.exporter);
    case Registration::kPeerMemory:
      return fmt::format("{} bytes by address through peer memory; the driver says: {}",
                         region.bytes, region.pointer.empty() ? "nothing" : region.pointer);
  }
  return {};
}

Observation about(Way way, Side side, const RegionFacts& region, const PathFacts& facts) {
  return {.id = "verbs.region",
          .kind = WitnessClass::kConstruction,
          .way = way,
          .side = side,
          .outcome = Outcome::kUnavailable,
          .strength = Strength::kDecisive,
          .observed = fmt::format("{} registered {}, {} bytes inline", facts.device, textOf(region),
                                  facts.inlineBytes),
          .ifDirect = "a region of GPU memory, registered with an adapter of hardware, none inline",
          .ifStaged = "a region of host memory, an adapter of software, or inline data",
          .reason = {},
          .control = {},
          .privilege = "none",
          .artefact = {}};
}

/// Why a region does not show to be GPU memory; empty: it does.
std::string doubtOf(const RegionFacts& region) {
  if (region.pointer == "managed") return "managed memory may lie on either side";
  if (region.registration == Registration::kPeerMemory) {
    return region.pointer == "device" ? "" : "the driver did not say that the address is the GPU's";
  }
  if (region.exporter.empty()) return "the kernel does not name the exporter of the dma-buf";
  if (region.exporter != kGpuExporter) {
    return fmt::format("the dma-buf is of {}, not of the GPU's driver", region.exporter);
  }
  if (region.offset > region.exportedBytes || region.exportedBytes - region.offset < region.bytes) {
    return "the dma-buf does not hold the region";
  }
  return {};
}

Observation judge(Way way, Side side, const RegionFacts& region, const PathFacts& facts) {
  Observation seen = about(way, side, region, facts);
  const auto staged = [&](std::string reason) {
    seen.outcome = Outcome::kStaged;
    seen.reason = std::move(reason);
    return seen;
  };
  if (region.registration == Registration::kHost || region.pointer == "host") {
    return staged("the adapter was given host memory");
  }
  if (!facts.hardware) return staged("the kernel's software moves the bytes with the CPU");
  if (side == Side::kSource && facts.inlineBytes != 0) {
    return staged("the CPU reads messages that are sent inline");
  }
  if (side == Side::kSink && facts.payloadInCompletions) {
    seen.reason =
        "the adapter may put small messages into the completion queue, in host memory: "
        "MLX5_SCATTER_TO_CQE=0 keeps them out";
    return seen;
  }
  seen.reason = doubtOf(region);
  if (seen.reason.empty()) seen.outcome = Outcome::kDirect;
  return seen;
}

}  // namespace

std::vector<Observation> pathObservations(const PathFacts& facts) {
  if (!facts.onGpu) return {};
  return {judge(Way::kOut, Side::kSource, facts.source, facts),
          judge(Way::kBack, Side::kSink, facts.target, facts)};
}

void readFdInfo(std::string_view text, RegionFacts& facts) {
  text = text.substr(0, kMostFdInfo);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    const std::string_view key = line.substr(0, colon), value = line.substr(begin);
    if (key == "exp_name") facts.exporter = value.substr(0, 64);
    if (key == "size") {
      std::from_chars(value.data(), value.data() + value.size(), facts.exportedBytes);
    }
  }
}

}  // namespace gdrbench::verbs
