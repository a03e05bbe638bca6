// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver says of GPUs and peers, asked in a process of its own.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/environment/known.h"

namespace gdrbench::doctor {

struct CudaDevice {
  int ordinal = 0;  ///< CUDA's
  std::string pci;
  Known<bool> gpuDirect;      ///< memory can be registered through peer memory
  Known<bool> dmaBuf;         ///< memory can be exported as dma-buf
  Known<bool> gpuDirectVmm;   ///< the same for memory of the virtual memory management
  Known<int> flushOptions;    ///< bits: 1 host, 2 memory operations of a stream
  Known<int> writesOrdering;  ///< 0 none, 100 the owner, 200 all devices

  bool operator==(const CudaDevice&) const = default;
};

/// Whether each of two GPUs can use the other's memory.
struct CudaPeers {
  std::string a, b;  ///< PCI addresses
  bool forth = false, back = false;

  bool operator==(const CudaPeers&) const = default;
};

struct CudaFacts {
  std::string version;  ///< "13.0": newest that the driver serves
  std::vector<CudaDevice> devices;
  std::vector<CudaPeers> peers;

  bool operator==(const CudaFacts&) const = default;
};

/// In this process: loads the driver. For the child, and for tests.
Result<CudaFacts> readCudaFacts();

/// In a process of its own, as no vendor library belongs into this one.
Result<CudaFacts> askCuda(std::chrono::milliseconds timeout = std::chrono::seconds(60));

}  // namespace gdrbench::doctor
