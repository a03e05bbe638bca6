// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/cpu_work.h"

#include <fmt/format.h>

#include <string>

#include "harness/witness/counter.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

using evidence::Observation;

class CpuWork final : public Witness {
 public:
  CpuWork(const Scene& scene, std::unique_ptr<WorkMeter> meter)
      : scene_(scene), meter_(std::move(meter)) {}

  [[nodiscard]] std::string_view id() const override { return "cpu.work"; }

  void begin() override {
    if (const Status started = meter_->start(); !started) why_ = started.error().what();
  }

  /// Neutral, whatever the number. Loops that wait for completions make it high without a copy (an
  /// instruction for each few bytes, at any size), and a string instruction that copies a whole
  /// message makes it low with one. Only its slope over sizes can tell, and that is for whoever has
  /// several.
  std::vector<Observation> end(const Payload& payload) override {
    Observation seen = blank(id(), evidence::WitnessClass::kWork, scene_);
    seen.privilege = "kernel.perf_event_paranoid <= 2";
    seen.ifDirect = "instructions for each message, however long it is";
    seen.ifStaged = "with copies by the CPU: instructions in proportion to the bytes";
    if (!why_.empty()) return {unavailable(std::move(seen), why_)};
    const auto count = meter_->instructions();
    if (!count) return {unavailable(std::move(seen), count.why)};
    const std::uint64_t bytes = plus(payload.sentBytes, payload.receivedBytes);
    const std::uint64_t messages = plus(payload.sentMessages, payload.receivedMessages);
    if (bytes == 0 || messages == 0) {
      return {unavailable(std::move(seen), "no payload went either way")};
    }
    const auto part = [&](std::uint64_t of) {
      return static_cast<double>(*count) / static_cast<double>(of);
    };
    seen.observed = fmt::format("{:.4g} instructions for each byte, {:.4g} for each message",
                                part(bytes), part(messages));
    seen.artefact = fmt::format("{} instructions in user space", *count);
    return {neutral(std::move(seen),
                    "waiting loops count too, and a string instruction copies any "
                    "number of bytes: one size does not tell")};
  }

 private:
  Scene scene_;
  std::unique_ptr<WorkMeter> meter_;
  std::string why_;
};

}  // namespace

std::unique_ptr<Witness> cpuWork(const Scene& scene, std::unique_ptr<WorkMeter> meter) {
  return std::make_unique<CpuWork>(scene, std::move(meter));
}

}  // namespace gdrbench::witness
