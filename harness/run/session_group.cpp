// SPDX-License-Identifier: Apache-2.0
#include "harness/run/session_group.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>

#include "harness/bootstrap/channel.h"

namespace gdrbench {
namespace {

using std::chrono::steady_clock;

constexpr auto kKillGrace = std::chrono::milliseconds(500);

/// Cases that run at the same time: one wait for all of their processes.
class Group {
 public:
  explicit Group(std::span<const SessionRequest> requests) : requests_(requests) {
    for (const SessionRequest& each : requests) sessions_.emplace_back(each, watch_);
  }

  std::vector<SessionResult> run() {
    for (Session& each : sessions_) each.start();
    while (!over()) {
      const auto now = steady_clock::now();
      beginTogether(now);
      Result<Happening> happening = watch_.next(nextDeadline(now));
      if (!happening) {
        onNoHappening(happening.error());
      } else if (Session* session = ownerOf(happening->index); session && !session->over()) {
        session->onHappening(*std::move(happening));
      }
    }
    watch_.endAll(kKillGrace);
    for (const SessionRequest& each : requests_) removeLeftovers(each.namePrefix);
    std::vector<SessionResult> results;
    for (Session& each : sessions_) results.push_back(each.conclude());
    return results;
  }

 private:
  [[nodiscard]] bool over() const {
    return std::all_of(sessions_.begin(), sessions_.end(),
                       [](const Session& each) { return each.over(); });
  }

  /// Lets those go who are ready, once nobody else is awaited. One that failed is not awaited; one
  /// that takes very long is, but not so long that the others fail with it.
  void beginTogether(steady_clock::time_point now) {
    std::string late;
    for (const Session& each : sessions_) {
      if (!each.mayBecomeReady()) continue;
      if (now < each.waitsUntil()) return;
      late += (late.empty() ? "" : ", ") + each.id();
    }
    for (Session& each : sessions_) {
      if (each.ready()) each.begin(late);
    }
  }

  [[nodiscard]] steady_clock::time_point nextDeadline(steady_clock::time_point now) const {
    auto next = steady_clock::time_point::max();
    for (const Session& each : sessions_) {
      if (each.over()) continue;
      next = std::min(next, each.deadline());
      if (each.mayBecomeReady() && each.waitsUntil() > now)
        next = std::min(next, each.waitsUntil());
    }
    return next;
  }

  void onNoHappening(const Error& error) {
    const auto now = steady_clock::now();
    for (Session& each : sessions_) {
      if (each.over()) continue;
      if (error.code == ErrorCode::kCancelled) {
        each.onInterrupt(error);
      } else if (each.deadline() <= now) {
        each.onDeadline();
      }
    }
  }

  Session* ownerOf(std::size_t process) {
    const auto found = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const Session& each) { return each.owns(process); });
    return found == sessions_.end() ? nullptr : &*found;
  }

  std::span<const SessionRequest> requests_;
  Watch watch_;
  std::deque<Session> sessions_;
};

}  // namespace

std::vector<SessionResult> runSessions(std::span<const SessionRequest> requests) {
  return Group(requests).run();
}

}  // namespace gdrbench
