// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/calls.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace gdrbench::verbs {
namespace {

/// mlx5dv_reg_dmabuf_mr came after the oldest libraries that this module runs with, and its header
/// may be older still: found by name, described here.
using RegisterDataDirect = ibv_mr*(ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                                   std::uint64_t iova, int fd, int access, int mlx5Access);
constexpr int kMlx5DataDirect = 1;

RegisterDataDirect* findRegisterDataDirect() {
  void* library = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<RegisterDataDirect*>(dlsym(library, "mlx5dv_reg_dmabuf_mr"));
}

class LibraryCalls final : public Calls {
 public:
  ibv_device** deviceList(int* count) override { return ibv_get_device_list(count); }
  int freeDeviceList(ibv_device** list) override {
    ibv_free_device_list(list);
    return 0;
  }
  std::string deviceName(ibv_device* device) override { return ibv_get_device_name(device); }

  ibv_context* open(ibv_device* device) override { return ibv_open_device(device); }
  int close(ibv_context* context) override { return ibv_close_device(context); }
  int queryDevice(ibv_context* context, ibv_device_attr* attributes) override {
    return ibv_query_device(context, attributes);
  }
  int queryPort(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) override {
    return ibv_query_port(context, port, attributes);
  }
  ssize_t queryGidTable(ibv_context* context, ibv_gid_entry* entries, std::size_t room) override {
    return ibv_query_gid_table(context, entries, room, 0);
  }
  std::string interfaceName(std::uint32_t index) override {
    std::array<char, IF_NAMESIZE> name{};
    return if_indextoname(index, name.data()) == nullptr ? "" : name.data();
  }

  ibv_pd* allocatePd(ibv_context* context) override { return ibv_alloc_pd(context); }
  int deallocatePd(ibv_pd* pd) override { return ibv_dealloc_pd(pd); }
  ibv_mr* registerHost(ibv_pd* pd, void* data, std::size_t bytes, unsigned access) override {
    return ibv_reg_mr(pd, data, bytes, access);
  }
  ibv_mr* registerDmaBuf(ibv_pd* pd, const DmaBufRequest& request, unsigned access) override {
    const int flags = static_cast<int>(access);
    if (!request.dataDirect) {
      return ibv_reg_dmabuf_mr(pd, request.offset, request.bytes, request.iova, request.fd, flags);
    }
    static RegisterDataDirect* const kRegisterDataDirect = findRegisterDataDirect();
    if (kRegisterDataDirect == nullptr) {
      errno = ENOSYS;
      return nullptr;
    }
    return kRegisterDataDirect(pd, request.offset, request.bytes, request.iova, request.fd, flags,
                               kMlx5DataDirect);
  }
  int deregister(ibv_mr* mr) override { return ibv_dereg_mr(mr); }

  ibv_cq* createCq(ibv_context* context, int entries) override {
    return ibv_create_cq(context, entries, nullptr, nullptr, 0);
  }
  int destroyCq(ibv_cq* cq) override { return ibv_destroy_cq(cq); }
  ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) override {
    return ibv_create_qp(pd, attributes);
  }
  int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override {
    return ibv_modify_qp(qp, attributes, mask);
  }
  int destroyQp(ibv_qp* qp) override { return ibv_destroy_qp(qp); }

  int asyncEvent(ibv_context* context, ibv_async_event* event) override {
    return ibv_get_async_event(context, event);
  }
  void acknowledge(ibv_async_event* event) override { ibv_ack_async_event(event); }
};

}  // namespace

Calls& libraryCalls() {
  static LibraryCalls calls;
  return calls;
}

std::string libraryPath() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&ibv_wc_status_str), &where) == 0 ||
      where.dli_fname == nullptr) {
    return "unknown";
  }
  std::error_code error;
  const auto path = std::filesystem::canonical(where.dli_fname, error);
  return error ? where.dli_fname : path.string();
}

/// The library has no call that tells; packages name the file libibverbs.so.1.MINOR.RELEASE.0.
std::string libraryVersion() {
  const std::string file = std::filesystem::path(libraryPath()).filename().string();
  const std::size_t at = file.find(".so.");
  return at == std::string::npos ? file : file.substr(at + 4);
}

}  // namespace gdrbench::verbs
