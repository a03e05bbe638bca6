// SPDX-License-Identifier: Apache-2.0
// The conductor's side of one run of a case: two worker processes, their messages, their ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bootstrap/channel.h"
#include "harness/core/clock.h"
#include "harness/report/document.h"
#include "harness/run/case.h"
#include "harness/run/company.h"
#include "harness/run/wire.h"
#include "transports/registry.h"

namespace gdrbench {

struct SessionRequest {
  const Registry& registry;
  const Case& testCase;
  const Clock& clock;
  std::string program;     ///< path of the executable that knows the hidden command `worker`
  std::string namePrefix;  ///< for names that could outlive a crash; unique to this run of the case
  std::uint64_t seed = 0;
  /// Told when a side enters a phase; may be empty.
  std::function<void(Role, std::string_view phase)> onPhase;
};

struct SessionResult {
  report::Run run;                ///< outcome, measurement, both sides' facts
  std::vector<double> samplesNs;  ///< raw samples, at most Case::rawSamples
  bool interrupted = false;       ///< a signal came to the conductor
  /// When its messages were measured, as the conductor saw it; nothing if it did not come to that.
  std::optional<TimeSpan> measured;
};

/// What is done about each happening. Who waits for these is session_group.h, since several cases
/// may run at the same time. Nothing fails as a call: whatever goes wrong is the run's outcome.
class Session {
 public:
  Session(const SessionRequest& request, Watch& watch);

  void start();
  [[nodiscard]] bool owns(std::size_t process) const;
  void onHappening(Happening happening);
  void onInterrupt(const Error& error);
  void onDeadline();

  /// Both have ended; or the time for last words is up (onDeadline sets givenUp_).
  [[nodiscard]] bool over() const;
  [[nodiscard]] TimePoint deadline() const { return deadline_; }

  /// Connected, and held back until the others of the group are.
  [[nodiscard]] bool ready() const { return ready_ && !begun_ && !windingUp_; }
  [[nodiscard]] bool mayBecomeReady() const { return !ready_ && !windingUp_ && !over(); }
  [[nodiscard]] TimePoint waitsUntil() const { return waitsUntil_; }
  void begin(std::string_view without);
  [[nodiscard]] const std::string& id() const { return request_.testCase.id; }

  SessionResult conclude();

 private:
  static constexpr std::size_t kNoProcess = ~std::size_t{0};
  struct Side {
    Role role = Role::kInitiator;
    std::size_t index = kNoProcess;  ///< in the Watch
    std::string phase = "start";
    bool greeted = false;
    std::optional<wire::Address> address;
    std::optional<std::vector<Claim>> claims;
    std::optional<report::Run> result;
    std::optional<report::SideError> failure;
    bool closed = false;
    std::optional<ProcessEnd> end;
  };

  void assign(Side& side);
  void onMessage(Side& side, const ControlMessage& message);
  void onHello(Side& side, const ControlMessage& message);
  void onPhase(Side& side, const ControlMessage& message);
  void keepTime(std::string_view phase);
  void onAddress(Side& side, const ControlMessage& message);
  void onReady(Side& side, const ControlMessage& message);
  [[nodiscard]] std::string disagreement() const;
  void onFrozen(Side& side, const ControlMessage& message);
  void onResult(Side& side, const ControlMessage& message);
  void onFailure(Side& side, const ControlMessage& message);
  void onEnd(Side& side, const ProcessEnd& end);

  void complain(const Side& side, Error error);
  void blame(std::string who, std::string phase, Error error);
  void blameWhoIsStuck();
  void windUp();
  void giveUp();
  void tell(Side& side, const ControlMessage& message);

  void mergeResponder(report::Run& run);
  void checkTheCheck(const report::Run& run);
  void putCauseFirst();
  static std::string nameOf(const Side& side) { return std::string(name(side.role)); }
  [[nodiscard]] std::string phases() const { return sides_[0].phase; }

  const SessionRequest& request_;
  Watch& watch_;
  std::string digest_;
  std::array<Side, 2> sides_;
  TimePoint deadline_, waitsUntil_;
  std::optional<TimePoint> measuring_, measured_;
  std::vector<double> samples_;
  std::vector<report::SideError> errors_;
  std::vector<std::string> notes_;
  FrozenStep probed_;
  std::vector<evidence::Observation> observations_;
  bool ready_ = false, begun_ = false;
  bool windingUp_ = false, closing_ = false, givenUp_ = false, interrupted_ = false;
};

}  // namespace gdrbench
