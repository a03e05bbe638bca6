// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/registration.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "harness/core/units.h"
#include "transports/verbs/no_device.h"
#include "transports/verbs/platform.h"

namespace gdrbench::verbs {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"host", "dmabuf", "peermem"};

class FdOwner {
 public:
  explicit FdOwner(int fd) : fd_(fd) {}
  ~FdOwner() {
    if (fd_ >= 0) close(fd_);
  }
  FdOwner(const FdOwner&) = delete;
  FdOwner& operator=(const FdOwner&) = delete;

 private:
  int fd_;
};

unsigned accessOf(const RegistrationRequest& request) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (request.relaxedOrdering) access |= IBV_ACCESS_RELAXED_ORDERING;
  return access;
}

std::string textOf(int code) {
  return std::generic_category().message(code);
}

std::string kernelRelease() {
  utsname about{};
  return uname(&about) == 0 ? about.release : "unknown";
}

std::string triedText(const Buffer& buffer, const RegistrationRequest& request,
                      std::string_view by) {
  return fmt::format("register {} of {} memory with {}{}", formatSize(buffer.bytes()),
                     buffer.memory().text(), request.device, by);
}

Error wrongMemory(const Buffer& buffer, const RegistrationRequest& request) {
  return {.code = ErrorCode::kUnsupported,
          .tried = triedText(buffer, request, ""),
          .nativeText = "registration 'host' is for host memory",
          .next = "set registration: dmabuf, or peermem where nvidia_peermem is loaded"};
}

/// The driver's flavour matters: only the open kernel modules export dma-bufs.
std::string gpuDriver(const Platform& platform) {
  const std::string line = firstLineOf(platform.proc / "driver/nvidia/version");
  if (line.empty()) return "no NVIDIA driver is loaded";
  const bool open = line.find("Open Kernel Module") != std::string::npos;
  return fmt::format("the NVIDIA driver has its {} kernel modules", open ? "open" : "closed");
}

std::string dmaBufCause(const Platform& platform, const RegistrationRequest& request, int code) {
  switch (code) {
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      if (request.mapping == Mapping::kPcie) {
        return "the PCIe mapping needs an mlx5 device with data-direct and a library that knows "
               "mlx5dv_reg_dmabuf_mr (rdma-core 54)";
      }
      return fmt::format(
          "the driver of {} cannot register dma-bufs, or the kernel ({}) is older than 5.12",
          request.device, kernelRelease());
    case EINVAL:
      return "the range is not aligned as the exporter wants it, or the kind of allocation cannot "
             "be "
             "exported; " +
             gpuDriver(platform);
    case EBADF:
      return "what was exported is not a dma-buf";
    case ENOMEM:
    case ENOSPC:
      return "the GPU's BAR1 may be too small for the range (nvidia-smi -q -d MEMORY)";
    default:
      return {};
  }
}

std::string peerMemoryCause(const Platform& platform, int code) {
  if (code == ENOMEM || code == ENOSPC) {
    return "the GPU's BAR1 may be too small for the range (nvidia-smi -q -d MEMORY)";
  }
  if (code == EINVAL)
    return "the GPU wants 64 KiB alignment, or the kind of allocation is not for RDMA";
  if (code != EFAULT) return {};
  std::error_code ignored;
  if (!std::filesystem::exists(platform.sys / "module/nvidia_peermem", ignored)) {
    return "nvidia_peermem is not loaded (modprobe nvidia_peermem)";
  }
  if (!std::filesystem::exists(platform.sys / "kernel/mm/memory_peers", ignored)) {
    return "nvidia_peermem is loaded, but this kernel's InfiniBand core has no peer memory: use "
           "registration: dmabuf";
  }
  return "no peer memory client took the address: is it plain device memory?";
}

Error refusal(const Buffer& buffer, const RegistrationRequest& request, std::string cause,
              int code) {
  Error error = resourceError(
      triedText(buffer, request, fmt::format(" by {}", name(request.registration))), code);
  const bool cannot = code == ENOSYS || code == EOPNOTSUPP || code == EPROTONOSUPPORT;
  if (cannot) error.code = ErrorCode::kUnsupported;
  if (!cause.empty()) error.next = std::move(cause);
  return error;
}

/// While the descriptor is open: later nobody can tell.
void lookAt(int fd, const Platform& platform, RegionFacts& facts) {
  std::ifstream file(platform.proc / "self/fdinfo" / std::to_string(fd));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  readFdInfo(text, facts);
}

Result<MrHandle> registerByDmaBuf(const Platform& platform, ibv_pd* pd, const Buffer& buffer,
                                  const RegistrationRequest& request, RegionFacts& facts) {
  if (!platform.exportDmaBuf) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = triedText(buffer, request, " by dmabuf"),
                 .nativeText = "this build cannot export GPU memory as a dma-buf"};
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const PageRange pages = pagesAround(buffer.data(), buffer.bytes(), page);
  Result<DmaBufRange> exported = platform.exportDmaBuf(pages.begin, pages.bytes, request.mapping);
  if (!exported) return std::move(exported).error();
  const FdOwner owner(exported->fd);
  if (exported->offset > exported->length || exported->length - exported->offset < pages.bytes) {
    return Error{.code = ErrorCode::kInternal,
                 .tried = triedText(buffer, request, " by dmabuf"),
                 .nativeText = fmt::format("the dma-buf has {} from offset {} on; {} are needed",
                                           formatSize(exported->length), exported->offset,
                                           formatSize(pages.bytes))};
  }
  const DmaBufRequest wanted{.fd = exported->fd,
                             .offset = exported->offset + pages.offset,
                             .bytes = buffer.bytes(),
                             .iova = reinterpret_cast<std::uintptr_t>(buffer.data()),
                             .dataDirect = request.mapping == Mapping::kPcie};
  lookAt(exported->fd, platform, facts);
  facts.offset = wanted.offset;
  MrHandle mr(platform.calls.registerDmaBuf(pd, wanted, accessOf(request)), {&platform.calls});
  if (mr) return mr;
  const int code = errno;
  return refusal(buffer, request, dmaBufCause(platform, request, code), code);
}

Result<MrHandle> registerByAddress(const Platform& platform, ibv_pd* pd, const Buffer& buffer,
                                   const RegistrationRequest& request, bool ofGpu) {
  MrHandle mr(platform.calls.registerHost(pd, buffer.data(), buffer.bytes(), accessOf(request)),
              {&platform.calls});
  if (mr) return mr;
  const int code = errno;
  if (ofGpu) return refusal(buffer, request, peerMemoryCause(platform, code), code);
  return resourceError(triedText(buffer, request, ""), code);
}

}  // namespace

Registration registrationNamed(std::string_view word) {
  return word == "dmabuf"    ? Registration::kDmaBuf
         : word == "peermem" ? Registration::kPeerMemory
                             : Registration::kHost;
}

std::string_view name(Registration registration) {
  return kNames[static_cast<std::size_t>(registration)];
}

PageRange pagesAround(std::byte* data, std::uint64_t bytes, std::uint64_t page) {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
  const std::uint64_t offset = address % page;
  return {
      .begin = data - offset, .bytes = (offset + bytes + page - 1) / page * page, .offset = offset};
}

Region::Region(MrHandle mr, std::byte* data, RegionFacts facts)
    : mr_(std::move(mr)),
      data_(data),
      facts_(std::move(facts)),
      localKey_(mr_->lkey),
      remoteKey_(mr_->rkey) {}

Result<std::unique_ptr<Region>> registerBuffer(const Platform& platform, ibv_pd* pd,
                                               const Buffer& buffer,
                                               const RegistrationRequest& request) {
  const bool ofGpu = buffer.memory().kind == MemoryKind::kCuda;
  const Registration how = ofGpu ? request.registration : Registration::kHost;
  if (ofGpu && how == Registration::kHost) return wrongMemory(buffer, request);
  RegionFacts facts{.registration = how, .bytes = buffer.bytes(), .exporter = {}, .pointer = {}};
  if (ofGpu && platform.kindOfAddress) facts.pointer = platform.kindOfAddress(buffer.data());
  Result<MrHandle> mr = how == Registration::kDmaBuf
                            ? registerByDmaBuf(platform, pd, buffer, request, facts)
                            : registerByAddress(platform, pd, buffer, request, ofGpu);
  if (!mr) return std::move(mr).error();
  return std::make_unique<Region>(*std::move(mr), buffer.data(), std::move(facts));
}

std::string lockedMemoryLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : formatSize(limit.rlim_cur);
}

Error resourceError(std::string tried, int code) {
  const bool limited = code == ENOMEM || code == EAGAIN;
  Error error{.code = ErrorCode::kTransport,
              .tried = std::move(tried),
              .nativeCode = code,
              .nativeText = textOf(code)};
  if (code == EACCES || code == EPERM) error.code = ErrorCode::kPermission;
  if (!limited) return error;
  error.code = ErrorCode::kNoMemory;
  error.next = fmt::format(
      "the locked-memory limit (ulimit -l) is {}; a device without room says "
      "the same",
      lockedMemoryLimit());
  return error;
}

}  // namespace gdrbench::verbs
