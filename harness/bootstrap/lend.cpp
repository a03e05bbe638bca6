// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/lend.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "harness/bootstrap/process.h"

namespace gdrbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
};

/// In the abstract namespace: it goes with its socket, whatever becomes of the process.
Address addressOf(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.value.sun_path - 1);
  std::memcpy(address.value.sun_path + 1, name.data(), length);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

Descriptor unixSocket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

const sockaddr* plain(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.value);
}

Error waitedInVain(std::string_view what) {
  return {.code = ErrorCode::kTimeout,
          .tried = "run both sides in one process",
          .nativeText = fmt::format("waited for {} until the deadline", what)};
}

/// The borrower may not listen yet.
Result<Descriptor> connectTo(const std::string& name, TimePoint deadline) {
  const Address address = addressOf(name);
  while (true) {
    Descriptor socket = unixSocket();
    if (connect(socket.get(), plain(address), address.length) == 0) return socket;
    if (errno != ECONNREFUSED && errno != EINTR) {
      return systemError("reach the process of the other side", errno);
    }
    if (steady_clock::now() >= deadline) return waitedInVain("the other side's process");
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// One byte with a descriptor attached to it.
Status sendDescriptor(int socket, int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) == 1) return Done{};
  return systemError("lend the channel to the process of the other side", errno);
}

Result<Descriptor> receiveDescriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) < 0) {
    return systemError("borrow the channel of the other side", errno);
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    return Error{.code = ErrorCode::kPeerLost, .tried = "borrow the channel of the other side"};
  }
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Descriptor(fd);
}

/// Until somebody connects or sends.
Status awaitReadable(int fd, TimePoint deadline, std::string_view what) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return waitedInVain(what);
    pollfd wanted{fd, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready > 0) return Done{};
    if (ready < 0 && errno != EINTR) return systemError("wait for the other side", errno);
  }
}

}  // namespace

Result<int> lendChannel(Channel channel, const std::string& name, TimePoint deadline) {
  auto borrower = connectTo(name, deadline);
  if (!borrower) return borrower.error();
  if (Status sent = sendDescriptor(borrower->get(), channel.fd()); !sent) return sent.error();
  // No deadline of its own: the borrower has one, and with its end this connection ends.
  unsigned char status = 1;
  ssize_t got = 0;
  do {
    got = recv(borrower->get(), &status, 1, 0);
  } while (got < 0 && errno == EINTR);
  if (got == 1) return static_cast<int>(status);
  return Error{.code = ErrorCode::kPeerLost,
               .tried = "get the channel back: the process that ran both sides has ended"};
}

struct BorrowedChannel::Loan {
  Descriptor lender;
  Channel channel;
  bool returned = false;
};

Result<BorrowedChannel> BorrowedChannel::await(const std::string& name, TimePoint deadline) {
  const Descriptor listener = unixSocket();
  const Address address = addressOf(name);
  if (bind(listener.get(), plain(address), address.length) != 0 || listen(listener.get(), 1) != 0) {
    return systemError("listen for the process of the other side", errno);
  }
  constexpr std::string_view kWho = "the other side's process";
  if (Status came = awaitReadable(listener.get(), deadline, kWho); !came) return came.error();
  Descriptor lender(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (lender.get() < 0) return systemError("accept the process of the other side", errno);
  if (Status spoke = awaitReadable(lender.get(), deadline, kWho); !spoke) return spoke.error();
  auto fd = receiveDescriptor(lender.get());
  if (!fd) return fd.error();
  return BorrowedChannel(
      std::unique_ptr<Loan>(new Loan{std::move(lender), Channel(fd->release())}));
}

BorrowedChannel::BorrowedChannel(std::unique_ptr<Loan> loan) : loan_(std::move(loan)) {}
BorrowedChannel::BorrowedChannel(BorrowedChannel&&) noexcept = default;
BorrowedChannel::~BorrowedChannel() {
  if (loan_ != nullptr) giveBack(1);
}

Channel& BorrowedChannel::channel() {
  return loan_->channel;
}

void BorrowedChannel::giveBack(int status) {
  if (std::exchange(loan_->returned, true)) return;
  const auto byte = static_cast<unsigned char>(status);
  // A lender that is gone was seen to go by whoever started it.
  (void)send(loan_->lender.get(), &byte, 1, MSG_NOSIGNAL);
}

}  // namespace gdrbench
