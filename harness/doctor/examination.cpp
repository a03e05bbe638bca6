// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/doctor/checks.h"
#include "harness/doctor/facts.h"

namespace gdrbench::doctor {
namespace {

bool isNamed(const Gpu& gpu, const GpuInventory& all, const std::string& wanted) {
  if (const auto index = parseInteger(wanted)) return gpu.index == *index;
  return all.find(wanted) == &gpu;
}

bool isNamed(const RdmaNic& nic, const std::string& wanted) {
  const auto& netdevs = nic.nic.netdevs;
  return nic.nic.name == wanted ||
         std::find(netdevs.begin(), netdevs.end(), wanted) != netdevs.end();
}

Error notThere(const char* option, const std::string& wanted, const std::vector<std::string>& all) {
  return {
      .code = ErrorCode::kUsage,
      .tried = fmt::format("{}: there is no '{}' here; there is: {}", option, wanted, listed(all))};
}

Result<std::vector<const Gpu*>> selectGpus(const Inputs& inputs, const std::string& wanted) {
  std::vector<const Gpu*> found;
  std::vector<std::string> names;
  if (!inputs.gpus) return found;
  for (const Gpu& gpu : (*inputs.gpus).gpus) {
    names.push_back(fmt::format("{} ({})", gpu.index, gpu.pci));
    if (wanted.empty() || isNamed(gpu, *inputs.gpus, wanted)) found.push_back(&gpu);
  }
  if (found.empty() && !names.empty()) return notThere("--gpu", wanted, names);
  return found;
}

Result<std::vector<const RdmaNic*>> selectNics(const Inputs& inputs, const std::string& wanted) {
  std::vector<const RdmaNic*> found;
  std::vector<std::string> names;
  for (const RdmaNic& nic : inputs.rdma) {
    names.push_back(nic.nic.name);
    if (wanted.empty() || isNamed(nic, wanted)) found.push_back(&nic);
  }
  if (found.empty() && !names.empty()) return notThere("--nic", wanted, names);
  return found;
}

bool isPath(const Conclusion& conclusion) {
  return conclusion.kind == Kind::kGpuToNic || conclusion.kind == Kind::kGpuToGpu;
}

}  // namespace

Result<Examination> examine(const Inputs& inputs, const Wanted& wanted) {
  auto gpus = selectGpus(inputs, wanted.gpu);
  if (!gpus) return gpus.error();
  auto nics = selectNics(inputs, wanted.nic);
  if (!nics) return nics.error();
  const Selection selection{*std::move(gpus), *std::move(nics), wanted.nic.empty()};
  Examination examination{.program = inputs.program,
                          .host = inputs.host,
                          .facts = comparableFacts(inputs),
                          .checks = runChecks(inputs, selection)};
  examination.conclusions = conclude(inputs, selection, examination.checks);
  return examination;
}

int exitStatus(const Examination& examination) {
  constexpr int kPossible = 0;
  constexpr int kImpossible = 3;
  constexpr int kUnknown = 4;
  int status = kImpossible;
  for (const Conclusion& each : examination.conclusions) {
    const bool works = each.verdict == Verdict::kPossible || each.verdict == Verdict::kSlow;
    if (works && isPath(each)) return kPossible;
    if (each.verdict == Verdict::kUnknown && each.kind != Kind::kGpuSide) status = kUnknown;
  }
  return status;
}

}  // namespace gdrbench::doctor
