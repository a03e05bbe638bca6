// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/async_watch.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "transports/verbs/words.h"

namespace gdrbench::verbs {
namespace {

/// The worker's signals are for its main thread.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::unique_ptr<AsyncWatch>> AsyncWatch::start(Calls& calls, ibv_context* context,
                                                      int port) {
  const int flags = fcntl(context->async_fd, F_GETFL);
  if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return systemError("watch for asynchronous events", errno);
  }
  const int stopFd = eventfd(0, EFD_CLOEXEC);
  if (stopFd < 0) return systemError("make an eventfd", errno);
  std::unique_ptr<AsyncWatch> watch(new AsyncWatch(calls, context, port, stopFd));
  const BlockSignals quiet;  // a thread inherits the mask
  try {
    watch->thread_ = std::thread([raw = watch.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    return systemError("start a thread for asynchronous events", error.code().value());
  }
  return watch;
}

AsyncWatch::~AsyncWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stopFd_, &one, sizeof one);
    thread_.join();
  }
  close(stopFd_);
}

void AsyncWatch::run() {
  std::array<pollfd, 2> fds = {pollfd{context_->async_fd, POLLIN, 0}, pollfd{stopFd_, POLLIN, 0}};
  while (true) {
    if (poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (fds[1].revents != 0) return;
    if ((fds[0].revents & POLLIN) != 0) takeEvent();
    // Hung up: the device is gone, and there is nothing more to read.
    if (fds[0].revents != 0 && (fds[0].revents & POLLIN) == 0) {
      int nothing = kNothing;
      event_.compare_exchange_strong(nothing, IBV_EVENT_DEVICE_FATAL);
      return;
    }
  }
}

void AsyncWatch::takeEvent() {
  ibv_async_event event{};
  if (calls_.asyncEvent(context_, &event) != 0) return;
  const int type = event.event_type;
  const int eventPort = type == IBV_EVENT_PORT_ERR ? event.element.port_num : 0;
  // Each must be acknowledged, or destroying what it is about waits for ever.
  calls_.acknowledge(&event);
  if (!isFatal(type, eventPort, port_)) return;
  int nothing = kNothing;
  event_.compare_exchange_strong(nothing, type);
}

}  // namespace gdrbench::verbs
