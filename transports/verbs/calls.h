// SPDX-License-Identifier: Apache-2.0
// The verbs calls that this transport makes, as a seam: tests put a fake in their place. They
// answer as the library does: a pointer or null with errno set, or an errno value.
//
// ibv_post_send, ibv_post_recv and ibv_poll_cq are not here: the library's own dispatch through
// ibv_context::ops is a seam already, and the hot path pays for one only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transports/verbs/vendor.h"

namespace gdrbench::verbs {

/// What ibv_reg_dmabuf_mr takes.
struct DmaBufRequest {
  int fd = -1;
  std::uint64_t offset = 0;  ///< of the range in the dma-buf
  std::uint64_t bytes = 0;
  std::uint64_t iova = 0;   ///< address by which work requests name the first byte
  bool dataDirect = false;  ///< mlx5: over the PCIe mapping of the GPU
};

class Calls {
 public:
  virtual ~Calls() = default;

  virtual ibv_device** deviceList(int* count) = 0;
  virtual int freeDeviceList(ibv_device** list) = 0;
  virtual std::string deviceName(ibv_device* device) = 0;

  virtual ibv_context* open(ibv_device* device) = 0;
  virtual int close(ibv_context* context) = 0;
  virtual int queryDevice(ibv_context* context, ibv_device_attr* attributes) = 0;
  virtual int queryPort(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) = 0;
  /// Entries of all ports; negative: an errno value.
  virtual ssize_t queryGidTable(ibv_context* context, ibv_gid_entry* entries, std::size_t room) = 0;
  /// Of a network interface; empty when there is none of that index.
  virtual std::string interfaceName(std::uint32_t index) = 0;

  virtual ibv_pd* allocatePd(ibv_context* context) = 0;
  virtual int deallocatePd(ibv_pd* pd) = 0;
  virtual ibv_mr* registerHost(ibv_pd* pd, void* data, std::size_t bytes, unsigned access) = 0;
  virtual ibv_mr* registerDmaBuf(ibv_pd* pd, const DmaBufRequest& request, unsigned access) = 0;
  virtual int deregister(ibv_mr* mr) = 0;

  virtual ibv_cq* createCq(ibv_context* context, int entries) = 0;
  virtual int destroyCq(ibv_cq* cq) = 0;
  virtual ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) = 0;
  virtual int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = 0;
  virtual int destroyQp(ibv_qp* qp) = 0;

  /// 0, or -1 with errno.
  virtual int asyncEvent(ibv_context* context, ibv_async_event* event) = 0;
  virtual void acknowledge(ibv_async_event* event) = 0;
};

/// Those of the library that this module is linked to.
Calls& libraryCalls();

/// "1.14.44.0", from the file that the library was loaded from; and that file.
std::string libraryVersion();
std::string libraryPath();

template <class T, int (Calls::*Release)(T*)>
struct Releaser {
  Calls* calls = nullptr;
  void operator()(T* object) const {
    if (object != nullptr) (calls->*Release)(object);
  }
};

using ContextHandle = std::unique_ptr<ibv_context, Releaser<ibv_context, &Calls::close>>;
using PdHandle = std::unique_ptr<ibv_pd, Releaser<ibv_pd, &Calls::deallocatePd>>;
using MrHandle = std::unique_ptr<ibv_mr, Releaser<ibv_mr, &Calls::deregister>>;
using CqHandle = std::unique_ptr<ibv_cq, Releaser<ibv_cq, &Calls::destroyCq>>;
using QpHandle = std::unique_ptr<ibv_qp, Releaser<ibv_qp, &Calls::destroyQp>>;

}  // namespace gdrbench::verbs
