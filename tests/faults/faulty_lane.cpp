// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>

#include "tests/faults/faulty_transport.h"

namespace gdrbench::faulty {

Accepted FaultyLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  if (failsNow() || stalled()) return {};
  if (faults_.shortSubmit) {
    sends = sends.first(std::min<std::size_t>(sends.size(), 1));
    if (!sends.empty()) expects = {};
    expects = expects.first(std::min<std::size_t>(expects.size(), 1));
  }
  const Accepted accepted = inner_->submit(sends, expects);
  expected_.insert(expected_.end(), expects.begin(),
                   expects.begin() + static_cast<std::ptrdiff_t>(accepted.expects));
  for (const Send& send : sends.first(accepted.sends)) {
    if (send.slot != layout_.syncSlot()) countMoved();
  }
  return accepted;
}

std::size_t FaultyLane::poll(std::span<Event> events) noexcept {
  if (!failsNow() && !injected_ && !stalled() && !innerFailed_) {
    Event inner[16];
    const std::size_t count = inner_->poll(inner);
    for (std::size_t i = 0; i < count; ++i) take(inner[i]);
  }
  std::size_t count = 0;
  for (; count < events.size() && !sent_.empty(); sent_.pop_front()) {
    events[count++] = sent_.front();
  }
  const Clock::time_point now = Clock::now();
  for (; count < events.size() && !arrived_.empty() && arrived_.front().due <= now;
       arrived_.pop_front()) {
    events[count++] = arrived_.front().event;
  }
  if (count == 0 && (injected_ || innerFailed_) && !events.empty()) {
    events[count++] = {Event::Kind::kFailed, 0};
  }
  return count;
}

Error FaultyLane::errorDetail() const {
  if (!injected_) return inner_->errorDetail();
  return {.code = ErrorCode::kTransport,
          .tried = "do call " + std::to_string(faults_.failCall) + " of the lane",
          .nativeCode = -5,
          .nativeText = "a failure that was asked for"};
}

bool FaultyLane::stalled() const {
  return faults_.stallAfter >= 0 && moved_ > faults_.stallAfter;
}

bool FaultyLane::failsNow() {
  if (calls_++ == faults_.failCall) injected_ = true;
  return injected_;
}

void FaultyLane::countMoved() {
  if (moved_++ == faults_.crashAfter) raise(faults_.crashSignal);
}

void FaultyLane::take(const Event& event) {
  if (event.kind == Event::Kind::kFailed) {
    innerFailed_ = true;
    return;
  }
  if (event.kind == Event::Kind::kSent) {
    sent_.push_back(event);
    return;
  }
  const auto found = std::find_if(expected_.begin(), expected_.end(), [&](const Expect& expect) {
    return expect.ticket == event.ticket;
  });
  if (found == expected_.end()) {
    hold(event, Clock::now());
    return;
  }
  const Expect expect = *found;
  expected_.erase(found);
  if (expect.slot == layout_.syncSlot()) {
    // Never held back for a neighbour: the peer may send none before it is heard.
    arrived_.push_back({event, Clock::now()});
  } else {
    arrive(event, expect);
  }
}

void FaultyLane::arrive(const Event& event, const Expect& expect) {
  const std::int64_t number = arrivals_++;
  damage(number, expect);
  lastArrival_ = expect;
  const bool late = faults_.delayFirst < 0 || number < faults_.delayFirst;
  const Clock::time_point due = Clock::now() + std::chrono::nanoseconds(late ? faults_.delayNs : 0);
  if (number != faults_.drop) {
    hold(event, due);
    if (number == faults_.duplicate) hold(event, due);
  }
  countMoved();
}

void FaultyLane::damage(std::int64_t number, const Expect& expect) {
  std::byte* bytes = target_ + layout_.offsetOf(expect.slot);
  if (number == faults_.flipMessage && expect.bytes != 0) {
    const auto last = static_cast<std::int64_t>(expect.bytes) - 1;
    bytes[std::min(faults_.flipByte, last)] ^= std::byte{0xff};
  }
  if (faults_.swap >= 0 && number == faults_.swap + 1 && lastArrival_) {
    std::byte* before = target_ + layout_.offsetOf(lastArrival_->slot);
    std::swap_ranges(bytes, bytes + std::min(expect.bytes, lastArrival_->bytes), before);
  }
}

// Waiting for a neighbour that the peer will not send before it hears of this one (ping-pong) would
// be a stall; only what is already expected counts as a neighbour.
void FaultyLane::hold(const Event& event, Clock::time_point due) {
  if (waitsForNext_) {
    arrived_.push_back({event, due});
    arrived_.push_back({*std::exchange(waitsForNext_, std::nullopt), due});
  } else if (faults_.reorder && moreExpected()) {
    waitsForNext_ = event;
  } else {
    arrived_.push_back({event, due});
  }
}

bool FaultyLane::moreExpected() const {
  return std::any_of(expected_.begin(), expected_.end(),
                     [&](const Expect& expect) { return expect.slot != layout_.syncSlot(); });
}

}  // namespace gdrbench::faulty
