// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/units.h"
#include "harness/doctor/checks.h"
#include "harness/doctor/link_check.h"

namespace gdrbench::doctor {
namespace {

constexpr About kCount = {"gpu.count", kGpuGroup, Effect::kNone,
                          "NVML reference, nvmlDeviceGetCount_v2"};
constexpr About kVisible = {"gpu.visible", kGpuGroup, Effect::kDecides,
                            "CUDA C++ programming guide, CUDA_VISIBLE_DEVICES"};
constexpr About kMig = {"gpu.mig", kGpuGroup, Effect::kDecides,
                        "NVIDIA Multi-Instance GPU user guide, 'Application Considerations'"};
constexpr About kDirect = {"gpu.gpudirect-rdma", kGpuGroup, Effect::kNone,
                           "CUDA driver API, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED"};
constexpr About kDmaBuf = {"gpu.dma-buf", kGpuGroup, Effect::kNone,
                           "CUDA driver API, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED"};
constexpr About kVmm = {
    "gpu.gpudirect-vmm", kGpuGroup, Effect::kNone,
    "CUDA driver API, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED"};
constexpr About kFlush = {"gpu.write-ordering", kGpuGroup, Effect::kNone,
                          "CUDA driver API, cuFlushGPUDirectRDMAWrites"};
constexpr About kBar1 = {"gpu.bar1", kGpuGroup, Effect::kNone,
                         "GPUDirect RDMA documentation, 'Displaying GPU BAR Space'"};
constexpr About kLink = {"gpu.pcie-link", kGpuGroup, Effect::kSlows,
                         "PCI Express base specification, 'Link Status Register'"};

/// A flag that CUDA answers: `yes` and `no` say what it means.
Check flagCheck(const About& about, const Inputs& inputs, const Gpu& gpu,
                Known<bool> CudaDevice::*flag, const char* yes, const char* no,
                const char* remedy) {
  const CudaDevice* device = inputs.cudaDevice(gpu.pci);
  if (device == nullptr) {
    return report(about, subjectOf(gpu), Level::kUnknown,
                  unknownText(inputs.cuda ? "CUDA does not show this GPU" : inputs.cuda.why));
  }
  const Known<bool>& value = device->*flag;
  if (!value) return report(about, subjectOf(gpu), Level::kUnknown, unknownText(value.why));
  if (*value) return report(about, subjectOf(gpu), Level::kOk, yes);
  return report(about, subjectOf(gpu), Level::kFail, no, remedy);
}

std::string orderingText(int ordering) {
  if (ordering >= 200) return "writes of a NIC are ordered for all devices: no flush is needed";
  if (ordering >= 100) return "writes of a NIC are ordered for the GPU itself";
  return "writes of a NIC are not ordered: a flush is needed before they are read";
}

/// As the driver says, which also knows where sysfs shows a virtual port.
std::optional<PcieLink> driverLink(const Gpu& gpu) {
  if (!gpu.pcieGeneration || !gpu.pcieWidth || !gpu.pcieMaxGeneration || !gpu.pcieMaxWidth) {
    return std::nullopt;
  }
  constexpr std::array kSpeeds = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0};
  const auto speed = [&](int generation) {
    const int last = static_cast<int>(kSpeeds.size());
    return kSpeeds.at(static_cast<std::size_t>(std::clamp(generation, 1, last) - 1));
  };
  return PcieLink{speed(*gpu.pcieGeneration), *gpu.pcieWidth, speed(*gpu.pcieMaxGeneration),
                  *gpu.pcieMaxWidth};
}

}  // namespace

std::string subjectOf(const Gpu& gpu) {
  return fmt::format("gpu {}", gpu.index);
}

Check gpuCountCheck(const Inputs& inputs) {
  if (!inputs.gpus) {
    const bool none = !inputs.module && inputs.gpusOnBus.empty();
    if (none) return report(kCount, "", Level::kNotApplicable, "there is no GPU");
    return report(kCount, "", Level::kUnknown, unknownText(inputs.gpus.why),
                  "see what nvidia-smi says");
  }
  std::string text = std::to_string((*inputs.gpus).gpus.size());
  for (const Gpu& gpu : (*inputs.gpus).gpus) {
    text += fmt::format("{} {} {}", gpu.index == 0 ? ":" : ",", gpu.name.value.value_or("unnamed"),
                        gpu.pci);
  }
  if ((*inputs.gpus).gpus.empty()) return report(kCount, "", Level::kFail, "the driver has no GPU");
  return report(kCount, "", Level::kOk, text);
}

Check gpuVisibleCheck(const Inputs& inputs, const Gpu& gpu) {
  const std::string subject = subjectOf(gpu);
  if (!gpu.problem.empty()) {
    return report(kVisible, subject, Level::kFail, "cannot be used: " + gpu.problem,
                  "look into the kernel's log for NVRM messages; reset the GPU");
  }
  if (const CudaDevice* device = inputs.cudaDevice(gpu.pci); device != nullptr) {
    return report(kVisible, subject, Level::kOk,
                  fmt::format("{}, {}: cuda:{} in this environment",
                              gpu.name.value.value_or("unnamed"), gpu.pci, device->ordinal));
  }
  if (inputs.visibleDevices) {
    return report(
        kVisible, subject, Level::kUnknown,
        unknownText(fmt::format("hidden: CUDA_VISIBLE_DEVICES is '{}'", *inputs.visibleDevices)),
        "ask again without CUDA_VISIBLE_DEVICES");
  }
  return report(kVisible, subject, Level::kUnknown,
                unknownText(inputs.cuda ? "CUDA does not show it" : inputs.cuda.why));
}

Check migCheck(const Gpu& gpu) {
  if (!gpu.mig) {
    // GPUs without the feature refuse the question.
    return report(kMig, subjectOf(gpu), Level::kNotApplicable, "no MIG: " + gpu.mig.why);
  }
  if (!*gpu.mig) return report(kMig, subjectOf(gpu), Level::kOk, "MIG is off");
  return report(kMig, subjectOf(gpu), Level::kFail,
                fmt::format("MIG is on, with {} instances: these have no peer access, and gdrbench "
                            "opens none of them",
                            gpu.migUuids.size()),
                "nvidia-smi -mig 0 on this GPU, or take another");
}

Check gpuDirectCheck(const Inputs& inputs, const Gpu& gpu) {
  return flagCheck(kDirect, inputs, gpu, &CudaDevice::gpuDirect,
                   "GPUDirect RDMA is supported (by the GPU and its driver; that says nothing of a "
                   "NIC)",
                   "the driver refuses GPUDirect RDMA for this GPU",
                   "a data center or professional GPU is needed; not in WSL");
}

Check dmaBufCheck(const Inputs& inputs, const Gpu& gpu) {
  return flagCheck(kDmaBuf, inputs, gpu, &CudaDevice::dmaBuf, "memory can be exported as dma-buf",
                   "memory cannot be exported as dma-buf",
                   "install the open kernel modules, driver 515 or newer; or use peer memory");
}

Check vmmCheck(const Inputs& inputs, const Gpu& gpu) {
  Check check =
      flagCheck(kVmm, inputs, gpu, &CudaDevice::gpuDirectVmm, "also for memory of cuMemCreate",
                "not for memory of cuMemCreate", "use memory of cuMemAlloc");
  if (check.level == Level::kFail) check.level = Level::kWarn;
  return check;
}

Check flushCheck(const Inputs& inputs, const Gpu& gpu) {
  const std::string subject = subjectOf(gpu);
  const CudaDevice* device = inputs.cudaDevice(gpu.pci);
  if (device == nullptr || !device->writesOrdering) {
    const std::string why = device != nullptr ? device->writesOrdering.why
                            : inputs.cuda     ? "CUDA does not show this GPU"
                                              : inputs.cuda.why;
    return report(kFlush, subject, Level::kUnknown, unknownText(why));
  }
  const int options = device->flushOptions.value.value_or(0);
  const std::string flush = (options & 1) != 0 ? "the host can flush" : "the host cannot flush";
  const bool unordered = *device->writesOrdering < 100;
  return report(kFlush, subject, unordered && (options & 1) == 0 ? Level::kWarn : Level::kOk,
                orderingText(*device->writesOrdering) + "; " + flush,
                unordered ? "read the written memory by RDMA before a kernel does" : "");
}

Check bar1Check(const Gpu& gpu) {
  const std::string subject = subjectOf(gpu);
  if (!gpu.bar1Bytes)
    return report(kBar1, subject, Level::kUnknown, unknownText(gpu.bar1Bytes.why));
  const std::uint64_t bar1 = *gpu.bar1Bytes;
  const std::string text = formatSize(bar1) + " of BAR1";
  if (!gpu.memoryBytes) return report(kBar1, subject, Level::kOk, text);
  if (bar1 >= *gpu.memoryBytes) {
    return report(kBar1, subject, Level::kOk, text + ": all memory can be registered at once");
  }
  return report(kBar1, subject, Level::kWarn,
                fmt::format("{} for {} of memory: registrations share it, and beyond it they fail",
                            text, formatSize(*gpu.memoryBytes)),
                "register less at once; some GPUs have a large BAR1 mode, some firmware a "
                "'resizable BAR' setting");
}

Check gpuLinkCheck(const Inputs& inputs, const Gpu& gpu) {
  const PciPlace* place = inputs.place(gpu.pci);
  std::optional<PcieLink> link = driverLink(gpu);
  if (!link && place != nullptr) link = place->link;
  return linkCheck(kLink, subjectOf(gpu), link, Idle::kSlowsDown);
}

}  // namespace gdrbench::doctor
