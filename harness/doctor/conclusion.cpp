// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/conclusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace gdrbench::doctor {
namespace {

constexpr std::array<std::string_view, 4> kVerdicts = {"possible", "possible, slow",
                                                       "not possible here", "unknown"};
constexpr std::array<std::string_view, 4> kKinds = {"gpu-nic", "gpu-gpu", "gpu", "machine"};

using Chosen = std::vector<const Check*>;

/// Checks on a path that have this effect and one of these levels.
Chosen chosen(const Chosen& onPath, Effect effect, std::initializer_list<Level> levels) {
  Chosen found;
  for (const Check* each : onPath) {
    if (each->effect == effect &&
        std::find(levels.begin(), levels.end(), each->level) != levels.end()) {
      found.push_back(each);
    }
  }
  return found;
}

std::string findings(const Chosen& checks) {
  std::vector<std::string> words;
  for (const Check* each : checks) {
    words.push_back(each->subject.empty() ? each->finding
                                          : fmt::format("{}: {}", each->subject, each->finding));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::vector<std::string> ids(const Chosen& checks) {
  std::vector<std::string> all;
  for (const Check* each : checks) {
    if (std::find(all.begin(), all.end(), each->id) == all.end()) all.push_back(each->id);
  }
  return all;
}

/// In this order: one thing in the way is enough; what is not known is not promised.
Conclusion fromChecks(Kind kind, std::string subject, const Chosen& onPath) {
  Conclusion conclusion{.kind = kind, .subject = std::move(subject)};
  const auto decide = [&](Verdict verdict, const Chosen& by) {
    conclusion.verdict = verdict;
    conclusion.why = findings(by);
    conclusion.decidedBy = ids(by);
    return conclusion;
  };
  if (const Chosen fails = chosen(onPath, Effect::kDecides, {Level::kFail}); !fails.empty()) {
    return decide(Verdict::kImpossible, fails);
  }
  if (const Chosen open = chosen(onPath, Effect::kDecides, {Level::kUnknown}); !open.empty()) {
    return decide(Verdict::kUnknown, open);
  }
  if (const Chosen slow = chosen(onPath, Effect::kSlows, {Level::kWarn, Level::kFail});
      !slow.empty()) {
    return decide(Verdict::kSlow, slow);
  }
  decide(Verdict::kPossible, chosen(onPath, Effect::kDecides, {Level::kOk, Level::kWarn}));
  const Chosen unseen = chosen(onPath, Effect::kSlows, {Level::kUnknown});
  conclusion.why = unseen.empty() ? "" : "its speed is not known: " + findings(unseen);
  return conclusion;
}

/// Checks of the machine, of both ends and of the pair. What the whole machine has of RDMA is
/// nothing to two GPUs.
Chosen onPath(const std::vector<Check>& checks, const std::string& a, const std::string& b) {
  const std::string pair = pairOf(a, b);
  Chosen found;
  for (const Check& each : checks) {
    if (each.subject.empty() || each.subject == a || each.subject == b || each.subject == pair) {
      found.push_back(&each);
    }
  }
  return found;
}

const Check* byId(const std::vector<Check>& checks, std::string_view id) {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [&](const Check& each) { return each.id == id; });
  return found == checks.end() ? nullptr : &*found;
}

Conclusion ofMachine(const std::vector<Check>& checks, Verdict verdict,
                     std::initializer_list<std::string_view> deciding) {
  Chosen by;
  for (const std::string_view id : deciding) {
    if (const Check* check = byId(checks, id); check != nullptr) by.push_back(check);
  }
  return {.kind = Kind::kMachine,
          .subject = "GPUDirect RDMA",
          .verdict = verdict,
          .why = findings(by),
          .decidedBy = ids(by)};
}

Conclusion withoutGpus(const Inputs& inputs, const std::vector<Check>& checks) {
  const bool driverAnswers = inputs.module.has_value() && !inputs.gpus;
  if (driverAnswers) return ofMachine(checks, Verdict::kUnknown, {"gpu.count"});
  if (!inputs.gpusOnBus.empty()) {
    return ofMachine(checks, Verdict::kImpossible, {"driver.module"});
  }
  return ofMachine(checks, Verdict::kImpossible, {"gpu.count"});
}

/// A GPU alone: what it brings to a path, whether or not there is a NIC.
Conclusion ofGpuSide(const Inputs& inputs, const Gpu& gpu, const std::vector<Check>& checks) {
  Conclusion conclusion =
      fromChecks(Kind::kGpuSide, subjectOf(gpu), onPath(checks, subjectOf(gpu), ""));
  const Check direct = gpuDirectCheck(inputs, gpu);
  const Check dmaBuf = dmaBufCheck(inputs, gpu);
  conclusion.decidedBy.insert(conclusion.decidedBy.end(), {direct.id, dmaBuf.id});
  if (conclusion.verdict == Verdict::kImpossible || conclusion.verdict == Verdict::kUnknown) {
    return conclusion;
  }
  if (direct.level == Level::kFail) {
    conclusion.verdict = Verdict::kImpossible;
    conclusion.why = direct.finding;
  } else if (direct.level == Level::kOk) {
    conclusion.verdict = Verdict::kPossible;
    conclusion.why = "the GPU's side is able: GPUDirect RDMA yes, dma-buf " +
                     std::string(dmaBuf.level == Level::kOk ? "yes" : "no");
  } else {
    conclusion.verdict = Verdict::kUnknown;
    conclusion.why = direct.finding;
  }
  return conclusion;
}

}  // namespace

std::string_view name(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}
std::string_view name(Kind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}
std::span<const std::string_view> wordsOf(Verdict) {
  return kVerdicts;
}
std::span<const std::string_view> wordsOf(Kind) {
  return kKinds;
}

std::vector<Conclusion> conclude(const Inputs& inputs, const Selection& selection,
                                 const std::vector<Check>& checks) {
  if (selection.gpus.empty()) return {withoutGpus(inputs, checks)};
  std::vector<Conclusion> all;
  for (const Gpu* gpu : selection.gpus) {
    for (const RdmaNic* nic : selection.nics) {
      const std::string a = subjectOf(*gpu);
      const std::string b = subjectOf(*nic);
      all.push_back(fromChecks(Kind::kGpuToNic, pairOf(a, b), onPath(checks, a, b)));
    }
  }
  if (selection.nics.empty()) {
    all.push_back(ofMachine(checks, Verdict::kImpossible, {"rdma.count"}));
    for (const Gpu* gpu : selection.gpus) all.push_back(ofGpuSide(inputs, *gpu, checks));
  }
  forGpuPairs(inputs, selection, [&](const Gpu& first, const Gpu& second) {
    const std::string a = subjectOf(first);
    const std::string b = subjectOf(second);
    all.push_back(fromChecks(Kind::kGpuToGpu, pairOf(a, b), onPath(checks, a, b)));
  });
  return all;
}

}  // namespace gdrbench::doctor
