// SPDX-License-Identifier: Apache-2.0
#include "harness/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/measure/runner.h"
#include "harness/run/build_info.h"

namespace gdrbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// A worker notices its own deadline; the conductor waits a little longer, so that the worker can
/// say what it was waiting for.
constexpr auto kDeadlineGrace = milliseconds(1000);
/// Of what a case needs once it has begun: beside warming up and measuring.
constexpr auto kToTheEnd = milliseconds(2000);

/// How long those who are ready wait for the others of their group: half of their time, less where
/// the rest would not do.
nanoseconds waitForOthers(const Case& c) {
  const nanoseconds timeout(c.timeoutNs);
  const nanoseconds needed =
      nanoseconds(c.warmup.maxTimeNs) + nanoseconds(c.stop.maxTimeNs) + kToTheEnd;
  return std::clamp<nanoseconds>(timeout - needed, timeout / 10, timeout / 2);
}
/// For the other side's account after one side has failed; and for the tear-down.
constexpr auto kLastWords = milliseconds(1500);
constexpr auto kClosing = milliseconds(3000);

}  // namespace

Session::Session(const SessionRequest& request, Watch& watch)
    : request_(request), watch_(watch), digest_(digest(request.testCase, request.registry)) {
  sides_[1].role = Role::kResponder;
  const nanoseconds timeout(request_.testCase.timeoutNs);
  deadline_ = steady_clock::now() + timeout + kDeadlineGrace;
  waitsUntil_ = steady_clock::now() + waitForOthers(request_.testCase);
}

void Session::start() {
  for (Side& side : sides_) {
    const SpawnRequest spawn{{request_.program, "worker", "--fd", "3"}, request_.testCase.env};
    Result<std::size_t> index = watch_.spawn(spawn);
    if (!index) {
      blame("conductor", "start", std::move(index).error());
      windUp();
      return;
    }
    side.index = *index;
  }
}

bool Session::owns(std::size_t process) const {
  return std::any_of(sides_.begin(), sides_.end(),
                     [&](const Side& side) { return side.index == process; });
}

void Session::onHappening(Happening happening) {
  Side& side = sides_[happening.index == sides_[0].index ? 0 : 1];
  switch (happening.kind) {
    case Happening::Kind::kMessage:
      return onMessage(side, happening.message);
    case Happening::Kind::kEnded:
      return onEnd(side, *happening.end);
    case Happening::Kind::kClosedChannel:
      return;  // its end follows, and says more
    case Happening::Kind::kProtocolError:
      return complain(side, *std::move(happening.error));
  }
}

void Session::onInterrupt(const Error& error) {
  interrupted_ = true;
  if (windingUp_) return;
  blame("conductor", phases(),
        {.code = ErrorCode::kCancelled,
         .tried = "finish the case",
         .nativeCode = error.nativeCode,
         .nativeText = "interrupted by the user"});
  windUp();
}

void Session::onDeadline() {
  if (windingUp_ || closing_) {
    if (!closing_) blameWhoIsStuck();
    giveUp();
    return;
  }
  blame("conductor", phases(),
        {.code = ErrorCode::kTimeout,
         .tried = fmt::format("see the case end within its timeout of {:g} s",
                              static_cast<double>(request_.testCase.timeoutNs) / 1e9),
         .nativeText =
             fmt::format("initiator in {}, responder in {}", sides_[0].phase, sides_[1].phase),
         .next = "a side that does not even answer is stuck in a library or stopped"});
  windUp();
}

bool Session::over() const {
  return givenUp_ || std::all_of(sides_.begin(), sides_.end(), [](const Side& side) {
           return side.end.has_value() || side.index == kNoProcess;
         });
}

void Session::begin(std::string_view without) {
  begun_ = true;
  if (!without.empty()) notes_.push_back(fmt::format("began without {}", without));
  for (Side& each : sides_) tell(each, wire::empty(MessageType::kBegin));
}

SessionResult Session::conclude() {
  SessionResult result;
  result.interrupted = interrupted_;
  result.samplesNs = std::move(samples_);
  result.run = sides_[0].result.value_or(report::Run{});
  if (measuring_ && measured_) result.measured = TimeSpan{*measuring_, *measured_};
  mergeResponder(result.run);
  checkTheCheck(result.run);
  result.run.notes.insert(result.run.notes.end(), notes_.begin(), notes_.end());
  if (errors_.empty()) return result;
  putCauseFirst();
  const Error& cause = errors_.front().error;
  const bool cannot = cause.code == ErrorCode::kNotBuilt || cause.code == ErrorCode::kUnsupported;
  result.run.outcome.kind = cannot ? report::OutcomeKind::kSkipped : report::OutcomeKind::kFailed;
  result.run.outcome.reason = fmt::format("{}: {}", errors_.front().side, cause.what());
  result.run.outcome.errors = std::move(errors_);
  return result;
}

void Session::assign(Side& side) {
  const bool tsc = request_.clock.kind() == Clock::Kind::kTsc;
  tell(side, wire::encode(wire::Assign{.digest = digest_,
                                       .testCase = request_.testCase,
                                       .role = side.role,
                                       .seed = request_.seed,
                                       .namePrefix = request_.namePrefix,
                                       .peerOnThisHost = true,
                                       .clockKind = tsc ? "tsc" : "monotonic",
                                       .ticksPerNanosecond = request_.clock.ticksPerNanosecond()},
                          request_.registry));
}

void Session::onMessage(Side& side, const ControlMessage& message) {
  switch (message.type) {
    case MessageType::kHello:
      return onHello(side, message);
    case MessageType::kPhase:
      return onPhase(side, message);
    case MessageType::kAddress:
      return onAddress(side, message);
    case MessageType::kReady:
      return onReady(side, message);
    case MessageType::kChunk:
      return tell(side.role == Role::kInitiator ? sides_[1] : sides_[0], message);
    case MessageType::kSamples:
      if (Status added = wire::appendSamples(message, samples_); !added) {
        complain(side, std::move(added).error());
      } else if (samples_.size() > request_.testCase.rawSamples) {
        complain(side, {.code = ErrorCode::kProtocol,
                        .tried = "keep raw samples",
                        .nativeText = "more came than were asked for"});
      }
      return;
    case MessageType::kFrozen:
      return onFrozen(side, message);
    case MessageType::kResult:
      return onResult(side, message);
    case MessageType::kFailure:
      return onFailure(side, message);
    case MessageType::kClosed:
      side.closed = true;
      return;
    default:
      complain(side, {.code = ErrorCode::kProtocol,
                      .tried = "understand a worker",
                      .nativeText = fmt::format("it sent '{}'", name(message.type))});
  }
}

void Session::onHello(Side& side, const ControlMessage& message) {
  Result<wire::Hello> hello = wire::decodeHello(message);
  if (!hello) return complain(side, std::move(hello).error());
  if (hello->build != buildId()) {
    return complain(
        side, {.code = ErrorCode::kMismatch,
               .tried = "work with a worker of another build",
               .nativeText = fmt::format("conductor {}, worker {}", buildId(), hello->build)});
  }
  side.greeted = true;
  assign(side);
}

void Session::onPhase(Side& side, const ControlMessage& message) {
  Result<std::string> phase = wire::decodePhase(message);
  if (!phase) return complain(side, std::move(phase).error());
  side.phase = *std::move(phase);
  if (side.role == Role::kInitiator) keepTime(side.phase);
  if (request_.onPhase) request_.onPhase(side.role, side.phase);
}

/// When the measurement began and ended, by this side's clock: cases of a group, also on several
/// hosts, have only that one in common.
void Session::keepTime(std::string_view phase) {
  if (phase == name(MeasurePhase::kMeasure)) measuring_ = steady_clock::now();
  if (phase == "finish") measured_ = steady_clock::now();
}

void Session::onAddress(Side& side, const ControlMessage& message) {
  Result<wire::Address> address = wire::decodeAddress(message);
  if (!address) return complain(side, std::move(address).error());
  if (address->digest != digest_) {
    return complain(
        side, {.code = ErrorCode::kMismatch,
               .tried = "agree on the case",
               .nativeText = fmt::format("digest {} there, {} here", address->digest, digest_)});
  }
  side.address = *std::move(address);
  if (!sides_[0].address || !sides_[1].address) return;
  tell(sides_[0], wire::encodeAddress(*sides_[1].address, MessageType::kPeer));
  tell(sides_[1], wire::encodeAddress(*sides_[0].address, MessageType::kPeer));
}

void Session::onReady(Side& side, const ControlMessage& message) {
  Result<wire::Ready> ready = wire::decodeReady(message);
  if (!ready) return complain(side, std::move(ready).error());
  side.claims = std::move(ready->claims);
  if (!sides_[0].claims || !sides_[1].claims) return;
  if (std::string differences = disagreement(); !differences.empty()) {
    return complain(side, {.code = ErrorCode::kMismatch,
                           .tried = "compare like with like",
                           .nativeText = "the two sides differ: " + differences});
  }
  ready_ = true;
}

/// Claims that must agree and do not: "library: A (initiator), B (responder)".
std::string Session::disagreement() const {
  std::string differences;
  for (const Claim& mine : *sides_[0].claims) {
    if (!mine.mustAgree) continue;
    const auto theirs = std::find_if(sides_[1].claims->begin(), sides_[1].claims->end(),
                                     [&](const Claim& claim) { return claim.key == mine.key; });
    const std::string value = theirs == sides_[1].claims->end() ? "nothing" : theirs->value;
    if (value == mine.value) continue;
    differences += fmt::format("{}{}: {} (initiator), {} (responder)",
                               differences.empty() ? "" : "; ", mine.key, mine.value, value);
  }
  return differences;
}

/// See frozen_peer.h for the order of the steps.
void Session::onFrozen(Side& side, const ControlMessage& message) {
  Result<FrozenStep> step = wire::decodeFrozen(message);
  if (!step) return complain(side, std::move(step).error());
  Side &initiator = sides_[0], &responder = sides_[1];
  switch (step->kind) {
    case FrozenStep::Kind::kReady:
      if (Status still = watch_.freeze(responder.index); !still) {
        return complain(responder, std::move(still).error());
      }
      return tell(initiator, wire::encode(FrozenStep{FrozenStep::Kind::kProbe}));
    case FrozenStep::Kind::kProbed:
      probed_ = *std::move(step);
      watch_.thaw(responder.index);
      return tell(responder, wire::encode(FrozenStep{FrozenStep::Kind::kLook}));
    case FrozenStep::Kind::kLooked:
      observations_.push_back(frozenPeerSeen(
          request_.testCase, capabilitiesOf(request_.testCase, request_.registry), probed_, *step));
      return tell(initiator, wire::encode(FrozenStep{FrozenStep::Kind::kLook}));
    case FrozenStep::Kind::kProbe:
    case FrozenStep::Kind::kLook:
      return complain(side, {.code = ErrorCode::kProtocol,
                             .tried = "understand a worker",
                             .nativeText = "it sent a step that is the conductor's"});
  }
}

void Session::onResult(Side& side, const ControlMessage& message) {
  Result<report::Run> result = wire::decodeResult(message);
  if (!result) return complain(side, std::move(result).error());
  side.result = *std::move(result);
  if (!sides_[0].result || !sides_[1].result) return;
  // Everything is decided: from here on failures are notes.
  closing_ = true;
  deadline_ = steady_clock::now() + kClosing;
  for (Side& each : sides_) tell(each, wire::empty(MessageType::kClose));
}

void Session::onFailure(Side& side, const ControlMessage& message) {
  Result<wire::Failure> failure = wire::decodeFailure(message);
  if (!failure) return complain(side, std::move(failure).error());
  side.result = std::move(failure->partial);
  if (closing_) {
    notes_.push_back(fmt::format("{} while closing: {}", nameOf(side), failure->error.what()));
    return;
  }
  blame(nameOf(side), failure->phase, std::move(failure->error));
  side.failure = errors_.back();
  windUp();
}

void Session::onEnd(Side& side, const ProcessEnd& end) {
  side.end = end;
  if (closing_) {
    if (!side.closed)
      notes_.push_back(fmt::format("{} {} while closing", nameOf(side), end.text()));
    return;
  }
  if (side.failure) return;
  blame(nameOf(side), side.phase,
        {.code = ErrorCode::kCrash,
         .tried = fmt::format("get through {}", side.phase),
         .nativeCode = end.signal != 0 ? end.signal : end.status,
         .nativeText = fmt::format("the {} {} during {}", nameOf(side), end.text(), side.phase)});
  windUp();
}

// --- failing ---------------------------------------------------------------------------------

void Session::complain(const Side& side, Error error) {
  blame(nameOf(side), side.phase, std::move(error));
  windUp();
}

void Session::blame(std::string who, std::string phase, Error error) {
  errors_.push_back({std::move(who), std::move(phase), std::move(error)});
}

/// After the time for last words: a side that has said nothing is what the other one waited for.
void Session::blameWhoIsStuck() {
  for (const Side& side : sides_) {
    if (side.end || side.failure || side.index == kNoProcess) continue;
    blame("conductor", side.phase,
          {.code = ErrorCode::kTimeout,
           .tried = fmt::format("hear from the {}, last seen in {}", nameOf(side), side.phase),
           .nativeText = "asked to stop, it neither answered nor ended",
           .next = "it is stopped, or stuck in a library or a driver"});
  }
}

/// Asks who still runs to stop, and waits for their account only so long.
void Session::windUp() {
  if (windingUp_) return;
  windingUp_ = true;
  deadline_ = steady_clock::now() + kLastWords;
  for (Side& side : sides_) {
    if (side.index != kNoProcess && !side.end && !side.failure) watch_.cancel(side.index);
  }
}

/// Nobody waits for these processes any more, and others of the group may go on for long.
void Session::giveUp() {
  givenUp_ = true;
  for (const Side& side : sides_) {
    if (side.index != kNoProcess && !side.end) watch_.kill(side.index);
  }
}

void Session::tell(Side& side, const ControlMessage& message) {
  if (side.end || side.index == kNoProcess) return;
  // A worker that is gone is reported by its end.
  (void)watch_.send(side.index, message, steady_clock::now() + kClosing);
}

// --- concluding ------------------------------------------------------------------------------

void Session::mergeResponder(report::Run& run) {
  if (!sides_[1].result) return;
  const report::Run& other = *sides_[1].result;
  run.responder = other.responder;
  const auto add = [&](const std::vector<evidence::Observation>& more) {
    run.observations.insert(run.observations.end(), more.begin(), more.end());
  };
  add(other.observations);
  add(observations_);
  run.check.messages += other.check.messages;
  run.check.bytes += other.check.bytes;
  run.check.sent += other.check.sent;
  run.setupSeconds = std::max(run.setupSeconds, other.setupSeconds);
  run.connectSeconds = std::max(run.connectSeconds, other.connectSeconds);
  for (const std::string& note : other.notes) {
    if (std::find(run.notes.begin(), run.notes.end(), note) == run.notes.end()) {
      run.notes.push_back(note);
    }
  }
}

/// Nothing checked although everything was to be checked is a failure, not a pass.
void Session::checkTheCheck(const report::Run& run) {
  if (!errors_.empty() || run.check.mode != "all") return;
  if (run.check.messages != 0 && run.check.messages == run.check.sent) return;
  blame("conductor", "finish",
        {.code = ErrorCode::kInternal,
         .tried = "check every message",
         .nativeText =
             fmt::format("{} of {} messages were checked", run.check.messages, run.check.sent)});
}

/// A crash or a fault explains a lost peer, a timeout or a cancellation at the other side; and a
/// side that is stuck, which only the conductor sees, explains the other's timeout.
void Session::putCauseFirst() {
  if (interrupted_) return;
  const report::SideError& first = errors_.front();
  const bool timedOut = first.side == "conductor" && first.error.code == ErrorCode::kTimeout;
  const auto weight = [timedOut](const report::SideError& error) {
    switch (error.error.code) {
      case ErrorCode::kCrash:
        return timedOut ? 5 : 0;  // of one that had been told to stop
      case ErrorCode::kCancelled:
        return 4;
      case ErrorCode::kPeerLost:
        return 3;
      case ErrorCode::kTimeout:
        return error.side == "conductor" ? 1 : 2;
      default:
        return 0;
    }
  };
  // The conductor stops a side only after a first failure: if that is already a side that was
  // told to stop, somebody else told it.
  const bool toldByOthers = first.error.code == ErrorCode::kCancelled;
  std::stable_sort(errors_.begin() + (toldByOthers ? 1 : 0), errors_.end(),
                   [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
}

}  // namespace gdrbench
