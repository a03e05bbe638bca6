// SPDX-License-Identifier: Apache-2.0
// The conductor's signals, and the children that a second one has to kill.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace gdrbench::signals {

/// A descriptor that is readable after a signal until it is drained; -1 when there is none to be
/// had. One for the process: level-triggered, never closed.
int wakeDescriptor();

/// Makes the wake descriptor unreadable again; the signal itself stays to be taken.
void drainWake();

/// The signal that came since the last call, or 0.
int takeSignal();

/// The second signal kills the groups of remembered children. False when there is no room.
bool rememberChild(pid_t pid);
/// To be called before the child is reaped: afterwards its number may belong to somebody else.
void forgetChild(pid_t pid);

/// A parent that ignored SIGCHLD hands that on, and then no end of a child can be asked for.
void keepEndedChildren();

/// Blocks all signals of this thread for its lifetime.
class Blocked {
 public:
  Blocked();
  ~Blocked();
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gdrbench::signals
