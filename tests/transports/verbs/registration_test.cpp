// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/registration.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/transports/verbs/support.h"

namespace gdrbench::verbs {
namespace {

const MemoryName kGpu{MemoryKind::kCuda, "0"};

/// A buffer that says it is GPU memory, at this offset in a page. Nothing touches it.
Buffer gpuBuffer(std::uint64_t offset, std::uint64_t bytes) {
  return {reinterpret_cast<std::byte*>(0x7f00'0000'0000 + offset), bytes, kGpu, -1, {}};
}

int someFd() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool isOpen(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

struct Bench {
  Bench() {
    fake.add("mlx5_0");
    platform.exportDmaBuf = [this](std::byte* begin, std::uint64_t bytes, Mapping mapping) {
      asked = {begin, bytes, 0};
      askedMapping = mapping;
      fd = someFd();
      return Result<DmaBufRange>(DmaBufRange{fd, offsetInDmaBuf, offsetInDmaBuf + bytes});
    };
  }
  Result<std::unique_ptr<Region>> registerWith(const Buffer& buffer, Registration how,
                                               Mapping mapping = Mapping::kDefault) {
    return registerBuffer(platform, nullptr, buffer,
                          {.registration = how, .mapping = mapping, .device = "mlx5_0"});
  }
  FakeVerbs fake;
  Platform platform = platformOf(fake);
  PageRange asked;
  Mapping askedMapping = Mapping::kDefault;
  std::uint64_t offsetInDmaBuf = 0;
  int fd = -1;
};

}  // namespace

TEST_CASE("pages around a buffer: whole pages, and where it begins in them") {
  auto* const base = reinterpret_cast<std::byte*>(0x7f00'0000'0000);
  struct {
    std::uint64_t offset, bytes, page, wholeBytes, at;
  } const kCases[] = {
      {0, 4096, 4096, 4096, 0},           {0, 1, 4096, 4096, 0},       {64, 4096, 4096, 8192, 64},
      {4095, 2, 4096, 8192, 4095},        {4095, 1, 4096, 4096, 4095}, {8192, 4160, 4096, 8192, 0},
      {4096, 65536, 65536, 131072, 4096},  // 64 KiB pages, as on some Arm machines
  };
  for (const auto& each : kCases) {
    CAPTURE(each.offset);
    const PageRange range = pagesAround(base + each.offset, each.bytes, each.page);
    CHECK(range.offset == each.at);
    CHECK(range.begin + range.offset == base + each.offset);
    CHECK(range.bytes == each.wholeBytes);
    CHECK(reinterpret_cast<std::uintptr_t>(range.begin) % each.page == 0);
  }
}

TEST_CASE("dmabuf: the buffer's place in the dma-buf, and its own address for work requests") {
  Bench bench;
  bench.offsetInDmaBuf = 1 << 21;  // the exporter gives the whole allocation
  const Buffer buffer = gpuBuffer(192, 10000);
  auto region = bench.registerWith(buffer, Registration::kDmaBuf);
  REQUIRE_MESSAGE(region.ok(), region.error().what());
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  CHECK(bench.asked.begin == buffer.data() - 192);
  CHECK(bench.asked.bytes % page == 0);
  CHECK(bench.asked.bytes >= 10192);
  CHECK(bench.fake.lastDmaBuf.offset == (1 << 21) + 192);
  CHECK(bench.fake.lastDmaBuf.bytes == 10000);
  CHECK(bench.fake.lastDmaBuf.iova == reinterpret_cast<std::uintptr_t>(buffer.data()));
  CHECK_FALSE(bench.fake.lastDmaBuf.dataDirect);
  CHECK((*region)->registration() == Registration::kDmaBuf);
  // The memory region holds the dma-buf; the descriptor has served.
  CHECK_FALSE(isOpen(bench.fd));
}

TEST_CASE("dmabuf: the PCIe mapping is asked of both, the GPU and the device") {
  Bench bench;
  auto region = bench.registerWith(gpuBuffer(0, 4096), Registration::kDmaBuf, Mapping::kPcie);
  REQUIRE(region.ok());
  CHECK(bench.askedMapping == Mapping::kPcie);
  CHECK(bench.fake.lastDmaBuf.dataDirect);
  bench.fake.failing["registerDmaBuf"] = ENOSYS;
  region = bench.registerWith(gpuBuffer(0, 4096), Registration::kDmaBuf, Mapping::kPcie);
  REQUIRE_FALSE(region.ok());
  CHECK(has(region.error().next, "data-direct"));
}

TEST_CASE("dmabuf: a range that does not hold the buffer is never registered") {
  Bench bench;
  bench.platform.exportDmaBuf = [&](std::byte*, std::uint64_t bytes, Mapping) {
    bench.fd = someFd();
    return Result<DmaBufRange>(DmaBufRange{bench.fd, 4096, bytes});  // 4096 short
  };
  const auto region = bench.registerWith(gpuBuffer(0, 8192), Registration::kDmaBuf);
  REQUIRE_FALSE(region.ok());
  CHECK(has(region.error().what(), "offset 4096"));
  CHECK(bench.fake.lastDmaBuf.fd == -1);
  CHECK_FALSE(isOpen(bench.fd));
}

TEST_CASE("dmabuf: refusals name the cause, with the errno, and never fall back") {
  Bench bench;
  const struct {
    int code;
    const char* text;
  } kCases[] = {{EOPNOTSUPP, "5.12"},
                {EPROTONOSUPPORT, "5.12"},
                {EINVAL, "NVIDIA driver"},
                {ENOMEM, "BAR1"},
                {EBADF, "not a dma-buf"}};
  for (const auto& each : kCases) {
    bench.fake.failing["registerDmaBuf"] = each.code;
    const auto region = bench.registerWith(gpuBuffer(0, 4096), Registration::kDmaBuf);
    REQUIRE_FALSE(region.ok());
    CHECK(region.error().nativeCode == each.code);
    CHECK(has(region.error().tried, "dmabuf"));
    CHECK_MESSAGE(has(region.error().next, each.text), region.error().what());
    CHECK_FALSE(isOpen(bench.fd));
  }
  CHECK(bench.fake.lastAccess == 0);  // no other way was tried
}

TEST_CASE("dmabuf: an exporter's refusal is the answer, without one it is unsupported") {
  Bench bench;
  bench.platform.exportDmaBuf = [](std::byte*, std::uint64_t, Mapping) {
    return Result<DmaBufRange>(Error{.code = ErrorCode::kUnsupported, .tried = "export it"});
  };
  CHECK(bench.registerWith(gpuBuffer(0, 4096), Registration::kDmaBuf).error().tried == "export it");
  bench.platform.exportDmaBuf = {};
  const auto none = bench.registerWith(gpuBuffer(0, 4096), Registration::kDmaBuf);
  CHECK(none.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("peermem: by the GPU's address, or the reason why nobody took it") {
  Bench bench;
  const auto region = bench.registerWith(gpuBuffer(0, 65536), Registration::kPeerMemory);
  REQUIRE(region.ok());
  CHECK((*region)->registration() == Registration::kPeerMemory);
  bench.fake.failing["registerHost"] = EFAULT;
  const auto refused = bench.registerWith(gpuBuffer(0, 65536), Registration::kPeerMemory);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().nativeCode == EFAULT);
  CHECK(has(refused.error().next, "nvidia_peermem is not loaded"));
  bench.fake.failing["registerHost"] = EINVAL;
  CHECK(
      has(bench.registerWith(gpuBuffer(64, 64), Registration::kPeerMemory).error().next, "64 KiB"));
}

TEST_CASE("registration: GPU memory is not host memory, and host memory needs no GPU's way") {
  Bench bench;
  const auto wrong = bench.registerWith(gpuBuffer(0, 4096), Registration::kHost);
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::kUnsupported);
  CHECK(has(wrong.error().next, "dmabuf"));
  const Buffer host = hostBuffer(4096);
  const auto region = bench.registerWith(host, Registration::kDmaBuf);
  REQUIRE(region.ok());
  CHECK((*region)->registration() == Registration::kHost);
}

TEST_CASE("registration: relaxed ordering is asked for only when it was") {
  Bench bench;
  const Buffer host = hostBuffer(4096);
  for (const bool relaxed : {false, true}) {
    const auto region = registerBuffer(bench.platform, nullptr, host,
                                       {.relaxedOrdering = relaxed, .device = "mlx5_0"});
    REQUIRE(region.ok());
    CHECK(((bench.fake.lastAccess & IBV_ACCESS_RELAXED_ORDERING) != 0) == relaxed);
    CHECK((bench.fake.lastAccess & IBV_ACCESS_ON_DEMAND) == 0);
  }
}

TEST_CASE("registration: too little memory to lock names the limit") {
  Bench bench;
  bench.fake.failing["registerHost"] = ENOMEM;
  const Buffer host = hostBuffer(1 << 20);
  const auto region = bench.registerWith(host, Registration::kHost);
  REQUIRE_FALSE(region.ok());
  CHECK(region.error().code == ErrorCode::kNoMemory);
  CHECK(has(region.error().tried, "1 MiB"));
  CHECK(has(region.error().next, "ulimit -l"));
  CHECK(has(region.error().next, lockedMemoryLimit()));
}

}  // namespace gdrbench::verbs
