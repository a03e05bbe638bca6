// SPDX-License-Identifier: Apache-2.0
#include "transports/shared_pair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "harness/core/units.h"

namespace gdrbench {
namespace {

constexpr std::uint64_t kHeaderBytes = 4096;

constexpr std::uint64_t totalBytes(std::uint64_t fifoBytes) {
  return kHeaderBytes + 2 * fifoBytes;
}

int index(Role role) {
  return role == Role::kInitiator ? 0 : 1;
}
Role other(Role role) {
  return role == Role::kInitiator ? Role::kResponder : Role::kInitiator;
}

/// Looks without changing anything: it may be somebody else's memory.
bool isPairOf(int fd, const PairAddress& address) {
  struct stat status {};
  if (fstat(fd, &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) != totalBytes(address.fifoBytes)) {
    return false;
  }
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
  Cookie cookie{};
  return pread(fd, cookie.data(), cookie.size(), 0) == static_cast<ssize_t>(cookie.size()) &&
         cookie == address.cookie;
}

}  // namespace

struct SharedPair::Header {
  Cookie cookie{};  // first: isPairOf reads it
  alignas(64) std::atomic<std::uint32_t> present[2] = {};
  alignas(64) std::atomic<std::uint32_t> closed[2] = {};
  FifoCounters fifo[2];
};

std::string PairAddress::path() const {
  return fmt::format("/proc/{}/fd/{}", pid, fd);
}

bool PairAddress::isOf(Role writer) const {
  return magic == kMagic && role == static_cast<std::uint32_t>(index(writer));
}

SharedPair::SharedPair(Role role, int fd, std::byte* memory, const PairAddress& address)
    : role_(role), fd_(fd), memory_(memory), address_(address) {}

SharedPair::~SharedPair() {
  close();
  munmap(memory_, totalBytes(address_.fifoBytes));
  ::close(fd_);
}

SharedPair::Header& SharedPair::header() const noexcept {
  return *std::launder(reinterpret_cast<Header*>(memory_));
}

std::byte* SharedPair::ring(Role sender) const noexcept {
  return memory_ + kHeaderBytes + (sender == Role::kInitiator ? 0 : address_.fifoBytes);
}

Result<std::shared_ptr<SharedPair>> SharedPair::map(std::string_view transport, Role role, int fd,
                                                    const PairAddress& address) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  // Populated now: a page fault must not fall into the timed part.
  void* memory = mmap(nullptr, totalBytes(address.fifoBytes), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(fd);
    return systemError(fmt::format("map the shared memory of {}", transport), error);
  }
  return std::shared_ptr<SharedPair>(
      new SharedPair(role, fd, static_cast<std::byte*>(memory), address));
}

Result<std::shared_ptr<SharedPair>> SharedPair::create(std::string_view transport,
                                                       std::uint64_t fifoBytes) {
  Result<Cookie> cookie = randomCookie();
  if (!cookie) return cookie.error();
  const int fd =
      memfd_create(fmt::format("gdrbench-{}", transport).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return systemError(fmt::format("create the shared memory of {}", transport), errno);
  // Allocated and not only sized: a lack of memory is an error here and no SIGBUS later. Sealed, so
  // that the other side can rely on the size.
  const std::uint64_t bytes = totalBytes(fifoBytes);
  int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) error = errno;
  if (error != 0) {
    ::close(fd);
    return systemError(
        fmt::format("allocate {} of shared memory for {}", formatSize(bytes), transport), error,
        "use a smaller fifo or window");
  }
  Result<std::shared_ptr<SharedPair>> pair =
      map(transport, Role::kResponder, fd,
          {.role = static_cast<std::uint32_t>(index(Role::kResponder)),
           .pid = static_cast<std::int32_t>(getpid()),
           .fd = fd,
           .fifoBytes = fifoBytes,
           .cookie = *cookie});
  if (!pair) return pair;
  new ((*pair)->memory_) Header{.cookie = *cookie};
  return pair;
}

Result<std::shared_ptr<SharedPair>> SharedPair::attach(std::string_view transport,
                                                       const PairAddress& address) {
  const std::string path = address.path();
  // Not blocking: another file may have taken the number.
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    const int error = errno;
    return systemError("open the responder's shared memory at " + path, error,
                       "both sides must run on one host, as one user and in one PID namespace, "
                       "and the responder must still be there");
  }
  if (!isPairOf(fd, address)) {
    ::close(fd);
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "attach to the responder's shared memory at " + path +
                          ": it is not the one that the address tells of",
                 .next =
                     "run both sides in one PID namespace, and see whether the responder is "
                     "still there"};
  }
  return map(transport, Role::kInitiator, fd, address);
}

Status SharedPair::meet(Deadline deadline) {
  Header& shared = header();
  const int peer = index(other(role_));
  shared.present[index(role_)].store(1, std::memory_order_release);
  while (shared.present[peer].load(std::memory_order_acquire) == 0) {
    if (peerClosed()) {
      return Error{.code = ErrorCode::kPeerLost,
                   .tried = fmt::format("connect over {}: the {} went away", address().path(),
                                        name(other(role_)))};
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{.code = ErrorCode::kTimeout,
                   .tried = fmt::format("connect over {}: the {} did not come before the deadline",
                                        address().path(), name(other(role_))),
                   .next = fmt::format("see what the {} was doing", name(other(role_)))};
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return Done{};
}

void SharedPair::close() noexcept {
  header().closed[index(role_)].store(1, std::memory_order_release);
}

bool SharedPair::peerClosed() const noexcept {
  return header().closed[index(other(role_))].load(std::memory_order_acquire) != 0;
}

FifoWriter SharedPair::writer() noexcept {
  return {header().fifo[index(role_)], ring(role_), address_.fifoBytes};
}

FifoReader SharedPair::reader() noexcept {
  return {header().fifo[index(other(role_))], ring(other(role_)), address_.fifoBytes};
}

}  // namespace gdrbench
