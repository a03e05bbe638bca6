// SPDX-License-Identifier: Apache-2.0
// The library's own answers, where there is a device. tests/soft-rdma/run has soft-RoCE.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iostream>

#include "tests/transports/verbs/support.h"

#if __has_include(<linux/udmabuf.h>)
#include <linux/udmabuf.h>
#endif

namespace gdrbench::verbs {
namespace {

Platform realPlatform() {
  return {.calls = libraryCalls(), .exportDmaBuf = {}};
}

/// Null, with the reason printed, where there is no device.
std::unique_ptr<OpenDevice> realDevice() {
  Result<OpenDevice> device = openDevice(realPlatform(), {});
  if (device) return std::make_unique<OpenDevice>(*std::move(device));
  std::cout << "[SKIPPED] " << device.error().what() << "\n";
  return nullptr;
}

/// A genuine dma-buf, of host memory; -1 where this kernel has none.
int udmabuf(std::uint64_t bytes) {
#ifdef UDMABUF_CREATE
  const int memory = memfd_create("gdrbench-udmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  const int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  int fd = -1;
  if (memory >= 0 && maker >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) == 0 &&
      fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    udmabuf_create request{};
    request.memfd = static_cast<__u32>(memory);
    request.flags = UDMABUF_FLAGS_CLOEXEC;
    request.size = bytes;
    fd = ioctl(maker, UDMABUF_CREATE, &request);
  }
  close(memory);
  close(maker);
  return fd;
#else
  return static_cast<int>(0 * bytes) - 1;
#endif
}

}  // namespace

TEST_CASE("real device: what it says of itself is whole") {
  const auto device = realDevice();
  if (!device) return;
  CHECK(device->port.up);
  CHECK(device->port.activeMtu >= 256);
  CHECK(device->limits.workRequests > 0);
  CHECK(device->limits.completions > 0);
  const auto table = readGidTable(libraryCalls(), device->context.get(), device->port.number);
  REQUIRE_MESSAGE(table.ok(), table.error().what());
  const auto gid = chooseGid(*table, "auto", "", device->where());
  REQUIRE(gid.ok());
  MESSAGE(device->entry.text() << ": " << gid->gid.text() << ", " << gid->reason);
  CHECK_FALSE(gid->gid.linkLocal());
  CHECK_FALSE(device->entry.interfaces.empty());
  CHECK_FALSE(libraryVersion().empty());
}

TEST_CASE("real device: host memory registers, with relaxed ordering too") {
  const auto device = realDevice();
  if (!device) return;
  const PdHandle pd(libraryCalls().allocatePd(device->context.get()), {&libraryCalls()});
  REQUIRE(pd);
  const Buffer host = hostBuffer(1 << 20);
  for (const bool relaxed : {false, true}) {
    const auto region = registerBuffer(realPlatform(), pd.get(), host,
                                       {.relaxedOrdering = relaxed, .device = device->entry.name});
    REQUIRE_MESSAGE(region.ok(), region.error().what());
    CHECK((*region)->remoteKey() != 0);
  }
}

TEST_CASE("real device: a genuine dma-buf is registered, or refused with the cause") {
  const auto device = realDevice();
  if (!device) return;
  const PdHandle pd(libraryCalls().allocatePd(device->context.get()), {&libraryCalls()});
  REQUIRE(pd);
  Platform platform = realPlatform();
  platform.exportDmaBuf = [](std::byte*, std::uint64_t bytes, Mapping) {
    return Result<DmaBufRange>(DmaBufRange{udmabuf(bytes), 0, bytes});
  };
  const Buffer gpu(reinterpret_cast<std::byte*>(0x7f00'0000'0000), 1 << 16,
                   {MemoryKind::kCuda, "0"}, -1, {});
  const auto region =
      registerBuffer(platform, pd.get(), gpu,
                     {.registration = Registration::kDmaBuf, .device = device->entry.name});
  if (region.ok()) return;
  MESSAGE(region.error().what());
  CHECK(region.error().nativeCode != 0);
  CHECK_FALSE(region.error().next.empty());
  // rdma_rxe has no dma-bufs in any kernel up to 6.12.
  if (device->entry.name.starts_with("rxe")) {
    CHECK(region.error().code == ErrorCode::kUnsupported);
    CHECK(has(region.error().next, "cannot register dma-bufs"));
  }
}

}  // namespace gdrbench::verbs
