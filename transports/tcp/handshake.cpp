// SPDX-License-Identifier: Apache-2.0
#include "transports/tcp/handshake.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace gdrbench::tcp {
namespace {

/// A client that has not shown yet who it is.
struct Candidate {
  Socket socket;
  Hello hello{};
  std::size_t got = 0;
};

enum class Verdict { kWait, kPeer, kStranger };

constexpr std::size_t kMaxCandidates = 32;

Verdict examine(Candidate& candidate, const Cookie& cookie) {
  auto* bytes = reinterpret_cast<std::byte*>(&candidate.hello);
  const ssize_t got = recv(candidate.socket.fd(), bytes + candidate.got,
                           sizeof(Hello) - candidate.got, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Verdict::kWait;
  if (got <= 0) return Verdict::kStranger;
  candidate.got += static_cast<std::size_t>(got);
  if (candidate.got < sizeof(Hello)) return Verdict::kWait;
  const Hello wanted{.cookie = cookie};
  return std::memcmp(&candidate.hello, &wanted, sizeof(Hello)) == 0 ? Verdict::kPeer
                                                                    : Verdict::kStranger;
}

void takeClients(const Socket& listener, std::vector<Candidate>& candidates, int& turnedAway) {
  for (;;) {
    Socket client(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.fd() < 0) return;  // none left, or it has gone again
    if (candidates.size() == kMaxCandidates) {
      // The one that has been silent for longest.
      candidates.erase(candidates.begin());
      ++turnedAway;
    }
    candidates.push_back({.socket = std::move(client)});
  }
}

Error nobodyCame(const Socket& listener, std::size_t silent, int turnedAway) {
  const std::size_t strangers = silent + static_cast<std::size_t>(turnedAway);
  const std::string who =
      strangers == 0
          ? "no client connected before the deadline"
          : fmt::format("{} client(s) connected before the deadline, but not the initiator",
                        strangers);
  return {
      .code = ErrorCode::kTimeout,
      .tried = fmt::format("accept the initiator at {}: {}", localAddress(listener).text(), who),
      .next = "see what the initiator was doing, and whether a firewall drops this port"};
}

Status welcome(const Socket& socket) {
  if (send(socket.fd(), &kWelcome, sizeof(kWelcome), MSG_NOSIGNAL) == sizeof(kWelcome)) {
    return Done{};
  }
  return systemError("welcome the initiator at " + peerAddress(socket).text(), errno);
}

/// Different causes, different texts: a refused port, a dropped packet and a missing route are
/// mended in different places.
Error connectError(const SocketAddress& peer, int errnoValue) {
  Error error = systemError("connect to the responder at " + peer.text(), errnoValue);
  if (error.code == ErrorCode::kSystem) error.code = ErrorCode::kTransport;
  switch (errnoValue) {
    case ECONNREFUSED:
      error.next =
          "nothing listens there, or a firewall rejects it: see whether the responder is "
          "still running";
      break;
    case ETIMEDOUT:
      error.code = ErrorCode::kTimeout;
      error.next =
          "no answer: a firewall that drops the packets looks like this, and so does an "
          "address that nobody has";
      break;
    case EHOSTUNREACH:
    case ENETUNREACH:
      error.next = "there is no route: set address: to one of the responder that this host reaches";
      break;
    case ECONNRESET:
    case EPIPE:
      error.code = ErrorCode::kPeerLost;
      error.next =
          "something answered and hung up: another program at this port, or a responder "
          "that ended";
      break;
    default:
      break;
  }
  return error;
}

/// 0, or an errno value.
int waitFor(const Socket& socket, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{.fd = socket.fd(), .events = events};
    const int ready = ::poll(&entry, 1, millisecondsUntil(deadline));
    if (ready > 0) return 0;
    if (ready == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
}

int reach(const Socket& socket, const SocketAddress& peer, Deadline deadline) {
  if (::connect(socket.fd(), peer.raw(), peer.length) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (const int error = waitFor(socket, POLLOUT, deadline); error != 0) return error;
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

Status awaitWelcome(const Socket& socket, const SocketAddress& peer, Deadline deadline) {
  std::uint64_t answer = 0;
  std::size_t got = 0;
  while (got < sizeof(answer)) {
    if (waitFor(socket, POLLIN, deadline) != 0) {
      return Error{.code = ErrorCode::kTimeout,
                   .tried = fmt::format("connect to the responder at {}: the connection stands, "
                                        "but no answer came before the deadline",
                                        peer.text()),
                   .next = "see what the responder was doing"};
    }
    const ssize_t bytes = recv(socket.fd(), reinterpret_cast<char*>(&answer) + got,
                               sizeof(answer) - got, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (bytes <= 0) return connectError(peer, bytes == 0 ? ECONNRESET : errno);
    got += static_cast<std::size_t>(bytes);
  }
  if (answer == kWelcome) return Done{};
  return Error{.code = ErrorCode::kProtocol,
               .tried = fmt::format("connect to the responder at {}: the answer is not that of a "
                                    "gdrbench responder of this version",
                                    peer.text())};
}

}  // namespace

Result<AcceptedPeer> acceptPeer(const Socket& listener, const Cookie& cookie, Deadline deadline) {
  std::vector<Candidate> candidates;
  int turnedAway = 0;
  for (;;) {
    std::vector<pollfd> entries{{.fd = listener.fd(), .events = POLLIN}};
    for (const Candidate& each : candidates) {
      entries.push_back({.fd = each.socket.fd(), .events = POLLIN});
    }
    const int ready = ::poll(entries.data(), entries.size(), millisecondsUntil(deadline));
    if (ready == 0) return nobodyCame(listener, candidates.size(), turnedAway);
    if (ready < 0 && errno != EINTR) {
      return systemError("wait for the initiator at " + localAddress(listener).text(), errno);
    }
    for (std::size_t i = 0; i < candidates.size();) {
      const Verdict verdict = examine(candidates[i], cookie);
      if (verdict == Verdict::kPeer) {
        Socket peer = std::move(candidates[i].socket);
        if (Status done = welcome(peer); !done) return done.error();
        return AcceptedPeer{std::move(peer), turnedAway};
      }
      if (verdict == Verdict::kStranger) {
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
        ++turnedAway;
      } else {
        ++i;
      }
    }
    takeClients(listener, candidates, turnedAway);
  }
}

Result<Socket> connectToPeer(const SocketAddress& peer, const Cookie& cookie,
                             const SocketSettings& settings, Deadline deadline) {
  Result<Socket> socket = openSocket(peer.family(), settings);
  if (!socket) return socket;
  if (const int error = reach(*socket, peer, deadline); error != 0) {
    return connectError(peer, error);
  }
  const Hello hello{.cookie = cookie};
  // 32 bytes always fit into the buffer of a connection that has sent nothing yet.
  if (send(socket->fd(), &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
    return connectError(peer, errno);
  }
  if (Status done = awaitWelcome(*socket, peer, deadline); !done) return done.error();
  return socket;
}

}  // namespace gdrbench::tcp
