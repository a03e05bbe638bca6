// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/host_slots.h"

namespace gdrbench {
namespace {

std::span<std::byte> slot(const Buffer& buffer, const SlotRun& run, std::uint32_t i) {
  return {buffer.data() + run.layout.offsetOf(run.firstSlot + i), run.bytes};
}

}  // namespace

Status fillOnHost(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    pattern.fill(slot(buffer, run, i), run.firstMessage + i);
  }
  return Done{};
}

Status poisonOnHost(Buffer& buffer, const SlotRun& run, const DataPattern& pattern) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    pattern.poison(slot(buffer, run, i), run.firstMessage + i);
  }
  return Done{};
}

std::optional<DataFault> verifyOnHost(const Buffer& buffer, const SlotRun& run,
                                      const DataPattern& pattern) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    if (auto fault = pattern.verify(slot(buffer, run, i), run.firstMessage + i)) return fault;
  }
  return {};
}

}  // namespace gdrbench
