// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/cuda_facts.h"

#include <fmt/format.h>

#include "harness/cuda/api.h"
#include "harness/cuda/device.h"
#include "harness/environment/child.h"
#include "harness/environment/fields_json.h"

namespace gdrbench::doctor {

template <class V>
static void fields(V& v, CudaDevice& x) {
  v("ordinal", x.ordinal);
  v("pci", x.pci);
  v("gpu_direct", x.gpuDirect);
  v("dma_buf", x.dmaBuf);
  v("gpu_direct_vmm", x.gpuDirectVmm);
  v("flush_options", x.flushOptions);
  v("writes_ordering", x.writesOrdering);
}

template <class V>
static void fields(V& v, CudaPeers& x) {
  v("a", x.a);
  v("b", x.b);
  v("forth", x.forth);
  v("back", x.back);
}

template <class V>
static void fields(V& v, CudaFacts& x) {
  v("version", x.version);
  v("devices", x.devices);
  v("peers", x.peers);
}

namespace {

/// An older driver refuses attributes that it does not know: that is no "no".
Known<int> attribute(const cuda::Api& api, cuda::DeviceHandle device, int which) {
  int value = 0;
  const cuda::Code code = api.deviceAttribute(&value, which, device);
  if (code == cuda::kSuccess) return value;
  return Known<int>::unknown(fmt::format("the driver does not know attribute {}", which));
}

Known<bool> flag(const cuda::Api& api, cuda::DeviceHandle device, int which) {
  const Known<int> value = attribute(api, device, which);
  return value ? Known<bool>(*value != 0) : Known<bool>::unknown(value.why);
}

bool canAccess(const cuda::Api& api, int from, int to) {
  int can = 0;
  return api.canAccessPeer(&can, from, to) == cuda::kSuccess && can != 0;
}

}  // namespace

Result<CudaFacts> readCudaFacts() {
  auto api = cuda::api();
  if (!api) return api.error();
  auto gpus = cuda::identities();
  if (!gpus) return gpus.error();
  const cuda::Api& cuda = **api;
  int version = 0;
  cuda.driverVersion(&version);
  CudaFacts facts{.version = fmt::format("{}.{}", version / 1000, version % 1000 / 10)};
  std::vector<cuda::DeviceHandle> handles;
  for (const cuda::Identity& gpu : *gpus) {
    cuda::DeviceHandle device = 0;
    if (const cuda::Code code = cuda.device(&device, gpu.ordinal); code != cuda::kSuccess) {
      return cuda::error(fmt::format("ask GPU {}", gpu.ordinal), code);
    }
    handles.push_back(device);
    facts.devices.push_back(
        {.ordinal = gpu.ordinal,
         .pci = gpu.pci,
         .gpuDirect = flag(cuda, device, cuda::kGpuDirectRdmaSupported),
         .dmaBuf = flag(cuda, device, cuda::kDmaBufSupported),
         .gpuDirectVmm = flag(cuda, device, cuda::kGpuDirectRdmaWithVmmSupported),
         .flushOptions = attribute(cuda, device, cuda::kGpuDirectRdmaFlushOptions),
         .writesOrdering = attribute(cuda, device, cuda::kGpuDirectRdmaWritesOrdering)});
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    for (std::size_t j = i + 1; j < handles.size(); ++j) {
      facts.peers.push_back({.a = facts.devices[i].pci,
                             .b = facts.devices[j].pci,
                             .forth = canAccess(cuda, handles[i], handles[j]),
                             .back = canAccess(cuda, handles[j], handles[i])});
    }
  }
  return facts;
}

Result<CudaFacts> askCuda(std::chrono::milliseconds timeout) {
  const auto text = inChild("ask the CUDA driver", timeout,
                            [] { return fields_json::answerText(readCudaFacts()); });
  if (!text) return text.error();
  return fields_json::answerFrom<CudaFacts>(*text, "the CUDA driver's answer");
}

}  // namespace gdrbench::doctor
