// SPDX-License-Identifier: Apache-2.0
#include "harness/run/worker.h"

#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "harness/bootstrap/channel.h"
#include "harness/bootstrap/lend.h"
#include "harness/run/side.h"

namespace gdrbench {
namespace {

constexpr unsigned kLastResortSeconds = 3;

void onStopSignal(int signal) {
  gStop.store(signal, std::memory_order_relaxed);
  // A worker that is stuck inside a library never looks at the flag: SIGALRM then ends it.
  alarm(kLastResortSeconds);
}

void installStopSignals() {
  struct sigaction action {};
  action.sa_handler = onStopSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

/// The responder's process, when both sides run in the initiator's.
int lend(Side& side, Channel channel) {
  auto status = lendChannel(std::move(channel), side.loanName(), side.deadline());
  return status ? *status : 1;  // the conductor sees how the other process ended
}

/// Of two sides in one process, one that fails stops the other: the conductor's signal goes to the
/// process that lent its channel. A signal that came first stays the cause.
int ended(int status) {
  int none = 0;
  if (status != 0) gStop.compare_exchange_strong(none, kStopOtherSide);
  return status;
}

/// The initiator's process, when both sides run in it.
int runBoth(const Registry& registry, Side& initiator, PhaseHook hook) {
  auto loan = BorrowedChannel::await(initiator.loanName(), initiator.deadline());
  if (!loan) return initiator.fail(std::move(loan).error());
  loan->channel().setStopFlag(&gStop);
  std::thread other([&] {
    Side responder(registry, loan->channel(), hook);
    responder.takeOverFrom(initiator);
    loan->giveBack(ended(responder.run()));
  });
  const int status = ended(initiator.run());
  other.join();
  return status;
}

}  // namespace

int runWorker(const Registry& registry, int fd, PhaseHook hook) {
  installStopSignals();
  Channel channel(fd);
  channel.setStopFlag(&gStop);
  Side side(registry, channel, hook);
  if (Status greeted = side.greet(); !greeted) return side.fail(std::move(greeted).error());
  if (!side.sharesProcess()) return side.run();
  return side.role() == Role::kInitiator ? runBoth(registry, side, hook)
                                         : lend(side, std::move(channel));
}

}  // namespace gdrbench
