// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/doctor/checks.h"

namespace gdrbench::doctor {
namespace {

constexpr About kDriver = {"driver.module", kDriverGroup, Effect::kDecides,
                           "NVIDIA driver README, chapter 'Open Linux Kernel Modules'"};
constexpr About kCuda = {"driver.cuda", kDriverGroup, Effect::kNone,
                         "CUDA driver API, 'Initialization': cuInit"};
constexpr About kKernel = {"driver.kernel-dma-buf", kDriverGroup, Effect::kNone,
                           "Linux 5.12: RDMA/umem, memory regions on dma-buf"};
constexpr About kPeer = {"driver.peer-memory", kDriverGroup, Effect::kNone,
                         "NVIDIA driver README, chapter 'GPUDirect RDMA Peer Memory Client'"};

/// "6.18" of "6.18.0-amd64"; nothing for what is no version.
std::optional<std::pair<int, int>> releaseOf(const std::string& kernel) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) != 2) return std::nullopt;
  return std::pair(major, minor);
}

bool loaded(const Inputs& inputs, const char* module) {
  return inputs.modules && (*inputs.modules).contains(module);
}

}  // namespace

Check driverCheck(const Inputs& inputs) {
  if (inputs.module) {
    const std::string version =
        inputs.module->version.empty() ? "version not said" : inputs.module->version;
    if (inputs.module->open) {
      return report(kDriver, "", Level::kOk, version + ", open kernel modules");
    }
    return report(kDriver, "", Level::kWarn,
                  version + ", proprietary kernel modules: these export no dma-buf",
                  "install the open kernel modules (Turing and newer), or use peer memory");
  }
  if (inputs.gpusOnBus.empty()) {
    return report(kDriver, "", Level::kNotApplicable,
                  "not loaded, and there is no NVIDIA GPU on the PCI bus");
  }
  return report(
      kDriver, "", Level::kFail,
      fmt::format("not loaded, with GPUs on the PCI bus: {}", fmt::join(inputs.gpusOnBus, ", ")),
      "install the NVIDIA driver, and make it visible in the container");
}

Check cudaCheck(const Inputs& inputs) {
  if (inputs.cuda) {
    return report(kCuda, "", Level::kOk,
                  fmt::format("serves CUDA {}; {} of {} GPUs visible", (*inputs.cuda).version,
                              (*inputs.cuda).devices.size(),
                              inputs.gpus ? std::to_string((*inputs.gpus).gpus.size()) : "?"));
  }
  if (!inputs.module) {
    return report(kCuda, "", Level::kNotApplicable, "no driver: " + inputs.cuda.why);
  }
  return report(
      kCuda, "", Level::kUnknown, unknownText(inputs.cuda.why),
      inputs.visibleDevices ? "look at CUDA_VISIBLE_DEVICES" : "see what nvidia-smi says");
}

Check kernelDmaBufCheck(const Inputs& inputs) {
  const auto release = releaseOf(inputs.kernel);
  if (!release) {
    return report(kKernel, "", Level::kUnknown,
                  unknownText(fmt::format("kernel release '{}'", inputs.kernel)));
  }
  if (*release >= std::pair(5, 12)) {
    return report(kKernel, "", Level::kOk,
                  fmt::format("Linux {}: RDMA can register dma-buf", inputs.kernel));
  }
  // Distributions carry it back, so that an older number is no proof.
  return report(kKernel, "", Level::kWarn,
                fmt::format("Linux {}: registration of dma-buf came with 5.12; a distribution may "
                            "have carried it back",
                            inputs.kernel),
                "use Linux 5.12 or newer, or peer memory");
}

Check peerMemoryCheck(const Inputs& inputs) {
  const std::string entries = "/sys/kernel/mm/memory_peers";
  if (!inputs.module) return report(kPeer, "", Level::kNotApplicable, "no NVIDIA driver");
  if (!inputs.modules) {
    return report(kPeer, "", Level::kUnknown, unknownText(inputs.modules.why));
  }
  if (loaded(inputs, "nvidia_peermem") || loaded(inputs, "nv_peer_mem")) {
    const bool registered =
        std::any_of(inputs.memoryPeers.begin(), inputs.memoryPeers.end(),
                    [](const std::string& each) { return each.starts_with("nv"); });
    const char* module = loaded(inputs, "nvidia_peermem") ? "nvidia_peermem" : "nv_peer_mem";
    if (registered) {
      return report(kPeer, "", Level::kOk,
                    fmt::format("{} is loaded and registered as {}", module,
                                fmt::join(inputs.memoryPeers, ", ")));
    }
    return report(
        kPeer, "", Level::kFail,
        fmt::format("{} is loaded, but the RDMA stack knows nothing of it: no entry in {}", module,
                    entries),
        fmt::format("unload and load it again after the RDMA stack (modprobe -r {0}; "
                    "modprobe {0}); without out-of-tree RDMA modules use dma-buf",
                    module));
  }
  if (loaded(inputs, "efa_nv_peermem")) {
    return report(kPeer, "", Level::kOk, "efa_nv_peermem is loaded; it serves EFA devices only");
  }
  return report(kPeer, "", Level::kWarn, "no peer memory module is loaded: dma-buf is the only way",
                "none where dma-buf works; otherwise modprobe nvidia_peermem");
}

}  // namespace gdrbench::doctor
