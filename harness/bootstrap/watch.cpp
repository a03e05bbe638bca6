// SPDX-License-Identifier: Apache-2.0
// One thread runs each io_context. Asio's fences would be for others, and the thread sanitizer does
// not know fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <memory>
#include <thread>

#include "harness/bootstrap/channel.h"
#include "harness/bootstrap/process.h"
#include "harness/bootstrap/signals.h"
#include "harness/bootstrap/socket_io.h"

namespace gdrbench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using StreamDescriptor = asio::posix::stream_descriptor;

constexpr milliseconds kGraceOfDestructor{2000};
constexpr milliseconds kStandsStill{500};
// A process deep in a driver can outlast SIGKILL; the conductor does not wait for it for ever.
constexpr milliseconds kKillTakes{10'000};
// Nobody takes happenings during endAll: reading stops here, so that a worker that floods its
// channel fills its socket and not our memory.
constexpr std::size_t kMostQueued = 64;
// Read after a process has ended: far above what a socket holds, so only a descendant that got away
// and still writes meets it.
constexpr std::size_t kLastWords = 64u << 20;

struct Child {
  explicit Child(asio::io_context& context) : channel(context), pidfd(context) {}

  pid_t pid = -1;
  StreamDescriptor channel;
  StreamDescriptor pidfd;
  FrameReader reader;
  bool running = true;
  bool paused = false;
  bool frozen = false;  ///< by us; who stands still for another reason is left as it is
};

ProcessEnd endOf(int status) {
  ProcessEnd end{.when = steady_clock::now()};
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.status = WEXITSTATUS(status);
  }
  return end;
}

/// To stop. A process that stands still does not see it before it goes on.
void ask(const Child& child) {
  ::kill(child.pid, SIGTERM);
  if (child.frozen) ::kill(child.pid, SIGCONT);
}

Error cannotWait() {
  return {.code = ErrorCode::kSystem,
          .tried = "make what processes are watched with",
          .nativeText = "no descriptors for it",
          .next = "raise the limit of open files (ulimit -n)"};
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal == 0) return fmt::format("exited with status {}", status);
  const char* words = ::sigdescr_np(signal);
  if (words == nullptr) return fmt::format("ended by signal {}", signal);
  return fmt::format("ended by signal {} ({})", signal, words);
}

struct Watch::Impl {
  Impl();

  Status adopt(Process process);
  Status send(std::size_t index, const ControlMessage& message, TimePoint deadline);
  Result<Happening> next(TimePoint deadline);
  void endAll(milliseconds grace);

  // --- waiting ---
  template <class Predicate>
  bool runUntil(TimePoint deadline, Predicate done);
  void startTimer(TimePoint deadline);
  void armWake();
  [[nodiscard]] bool noneRuns() const;

  // --- what happens ---
  void armChannel(std::size_t index);
  void resumeReading();
  void armPidfd(std::size_t index);
  std::size_t readSome(std::size_t index);
  void onClosed(std::size_t index, int errnoValue);
  void onEnded(std::size_t index);
  void giveUp(Child& child);

  asio::io_context context{1};
  asio::steady_timer timer{context};
  StreamDescriptor wake{context};
  std::vector<std::unique_ptr<Child>> children;
  std::deque<Happening> queue;
  unsigned waits = 0;
  bool expired = false;
  bool woken = false;
};

Watch::Impl::Impl() {
  signals::keepEndedChildren();
  const int fd = ::fcntl(signals::wakeDescriptor(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw boost::system::system_error(errno, boost::system::system_category());
  wake.assign(fd);
  armWake();
}

// --- waiting -------------------------------------------------------------------------------------

void Watch::Impl::startTimer(TimePoint deadline) {
  expired = false;
  timer.expires_at(deadline);
  // A wait that ended for another reason can leave its expiry in the queue of handlers.
  timer.async_wait([this, mine = ++waits](const error_code& error) {
    if (!error && mine == waits) expired = true;
  });
}

// Not run_one_until: that one wakes up each second.
template <class Predicate>
bool Watch::Impl::runUntil(TimePoint deadline, Predicate done) {
  context.restart();
  startTimer(deadline);
  while (!done() && !expired) context.run_one();
  // What came together with the deadline came in time.
  for (int i = 0; i < 8 && !done(); ++i) context.poll_one();
  timer.cancel();
  return done();
}

void Watch::Impl::armWake() {
  wake.async_wait(StreamDescriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    signals::drainWake();
    woken = true;
    armWake();
  });
}

bool Watch::Impl::noneRuns() const {
  for (const auto& child : children) {
    if (child->running) return false;
  }
  return true;
}

Result<Happening> Watch::Impl::next(TimePoint deadline) {
  while (true) {
    woken = false;
    if (const int signal = signals::takeSignal(); signal != 0) {
      return stoppedError("wait for the workers", signal);
    }
    if (!queue.empty()) {
      Happening happening = std::move(queue.front());
      queue.pop_front();
      resumeReading();
      return happening;
    }
    if (!runUntil(deadline, [this] { return woken || !queue.empty(); })) {
      return Error{.code = ErrorCode::kTimeout,
                   .tried = "wait for the workers",
                   .nativeText = "the deadline passed"};
    }
  }
}

// --- what happens --------------------------------------------------------------------------------

Status Watch::Impl::adopt(Process process) {
  auto child = std::make_unique<Child>(context);
  child->pid = process.pid;
  error_code error;
  child->pidfd.assign(process.pidfd.get(), error);
  if (!error) process.pidfd.release();
  if (!error) child->channel.assign(process.channel.get(), error);
  if (error) {
    killAndReap(process);
    return systemError("watch a process", error.value());
  }
  process.channel.release();
  children.push_back(std::move(child));
  armChannel(children.size() - 1);
  armPidfd(children.size() - 1);
  return Done{};
}

void Watch::Impl::armChannel(std::size_t index) {
  Child& child = *children[index];
  if (!child.channel.is_open()) return;
  child.paused = queue.size() >= kMostQueued;
  if (child.paused) return;
  child.channel.async_wait(StreamDescriptor::wait_read, [this, index](const error_code& error) {
    if (error) return;
    readSome(index);
    armChannel(index);
  });
}

void Watch::Impl::resumeReading() {
  for (std::size_t index = 0; index < children.size(); ++index) {
    if (children[index]->paused) armChannel(index);
  }
}

void Watch::Impl::armPidfd(std::size_t index) {
  children[index]->pidfd.async_wait(StreamDescriptor::wait_read,
                                    [this, index](const error_code& error) {
                                      if (!error) onEnded(index);
                                    });
}

/// One piece of what the child sent, its messages into the queue. 0 when there was nothing.
std::size_t Watch::Impl::readSome(std::size_t index) {
  Child& child = *children[index];
  if (!child.channel.is_open()) return 0;
  std::array<char, std::size_t{64} * 1024> piece;
  ssize_t got = 0;
  do {
    got = ::recv(child.channel.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) {
    onClosed(index, got < 0 ? errno : 0);
    return 0;
  }
  const auto size = static_cast<std::size_t>(got);
  Status fed = child.reader.feed({piece.data(), size});
  Happening happening{.index = index};
  while (child.reader.next(happening.message)) queue.push_back(happening);
  if (!fed) {
    child.channel.close();
    queue.push_back(
        {.index = index, .kind = Happening::Kind::kProtocolError, .error = std::move(fed).error()});
  }
  return size;
}

void Watch::Impl::onClosed(std::size_t index, int errnoValue) {
  Child& child = *children[index];
  Happening happening{.index = index, .kind = Happening::Kind::kClosedChannel};
  if (errnoValue != 0 || child.reader.midFrame()) {
    happening.error =
        socket_io::lost("receive on the control channel", errnoValue, child.reader.midFrame());
  }
  child.channel.close();
  queue.push_back(std::move(happening));
}

void Watch::Impl::onEnded(std::size_t index) {
  Child& child = *children[index];
  if (!child.running) return;
  // Before it is reaped: until then its number cannot be another process's or group's.
  ::kill(-child.pid, SIGKILL);
  for (std::size_t total = 0; total < kLastWords;) {
    const std::size_t got = readSome(index);
    if (got == 0) break;
    total += got;
  }
  signals::forgetChild(child.pid);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  giveUp(child);
  queue.push_back({.index = index, .kind = Happening::Kind::kEnded, .end = endOf(status)});
}

void Watch::Impl::giveUp(Child& child) {
  child.running = false;
  child.channel.close();
  child.pidfd.close();
}

// --- what is asked -------------------------------------------------------------------------------

Status Watch::Impl::send(std::size_t index, const ControlMessage& message, TimePoint deadline) {
  const std::string tried = fmt::format("send {} to process {}", name(message.type), index);
  const Result<std::string> frame = encodeFrame(message);
  if (!frame) return frame.error();
  if (index >= children.size() || !children[index]->channel.is_open()) {
    return Error{
        .code = ErrorCode::kPeerLost, .tried = tried, .nativeText = "its channel is closed"};
  }
  return socket_io::sendAll(children[index]->channel.native_handle(), *frame, deadline, nullptr,
                            tried);
}

void Watch::Impl::endAll(milliseconds grace) {
  const auto done = [this] { return noneRuns(); };
  if (done()) return;
  for (const auto& child : children) {
    if (!child->running) continue;
    ask(*child);
  }
  if (runUntil(steady_clock::now() + grace, done)) return;
  for (const auto& child : children) {
    if (child->running) ::kill(-child->pid, SIGKILL);
  }
  if (runUntil(steady_clock::now() + kKillTakes, done)) return;
  for (const auto& child : children) {
    if (!child->running) continue;
    fmt::print(stderr, "gdrbench: process {} has not ended {} s after SIGKILL; left behind\n",
               child->pid, kKillTakes.count() / 1000);
    signals::forgetChild(child->pid);
    giveUp(*child);
  }
}

// Without descriptors to wait with there is no Impl, and each call that can answer says so.
Watch::Watch() {
  try {
    impl_ = std::make_unique<Impl>();
  } catch (const boost::system::system_error&) {
    impl_ = nullptr;
  }
}

Watch::~Watch() {
  endAll(kGraceOfDestructor);
}

Result<std::size_t> Watch::spawn(const SpawnRequest& request) {
  if (!impl_) return cannotWait();
  auto process = startProcess(request);
  if (!process) return process.error();
  if (Status adopted = impl_->adopt(*std::move(process)); !adopted) return adopted.error();
  return impl_->children.size() - 1;
}

int Watch::pid(std::size_t index) const {
  return impl_->children.at(index)->pid;
}

Status Watch::send(std::size_t index, const ControlMessage& message, TimePoint deadline) {
  return impl_ ? impl_->send(index, message, deadline) : cannotWait();
}

Result<Happening> Watch::next(TimePoint deadline) {
  if (!impl_) return cannotWait();
  return impl_->next(deadline);
}

Status Watch::freeze(std::size_t index) {
  Child& child = *impl_->children.at(index);
  const std::string tried = fmt::format("let process {} stand still", child.pid);
  if (!child.running || ::kill(child.pid, SIGSTOP) != 0) return systemError(tried, ESRCH);
  const auto deadline = steady_clock::now() + kStandsStill;
  siginfo_t info{};
  while (steady_clock::now() < deadline) {
    if (::waitid(P_PID, static_cast<id_t>(child.pid), &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid == child.pid) {
      child.frozen = true;
      return Done{};
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  thaw(index);
  return systemError(tried, ETIMEDOUT, "it may be deep in a driver");
}

void Watch::thaw(std::size_t index) {
  Child& child = *impl_->children.at(index);
  child.frozen = false;
  if (child.running) ::kill(child.pid, SIGCONT);
}

void Watch::cancel(std::size_t index) {
  const Child& child = *impl_->children.at(index);
  if (child.running) ask(child);
}

void Watch::kill(std::size_t index) {
  const Child& child = *impl_->children.at(index);
  if (child.running) ::kill(-child.pid, SIGKILL);
}

void Watch::endAll(milliseconds grace) {
  if (impl_) impl_->endAll(grace);
}

}  // namespace gdrbench
