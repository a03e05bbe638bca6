// SPDX-License-Identifier: Apache-2.0
// A transport that wraps another and does it wrong, as told by its options: what the harness must
// notice, name and survive. Only for tests, so hot paths may allocate.
//
// Messages are numbered from 0 on each side: arrivals among arrivals; "moved" counts sends and
// arrivals together. Sync messages are neither counted nor damaged.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "transports/registry.h"

namespace gdrbench::faulty {

OptionTable options();
Capabilities capabilities(const OptionSet& options);
Status validate(const OptionSet& options);
std::string label(const OptionSet& options);
std::unique_ptr<Transport> make();

/// The transports of this build and "faulty".
Registry withFaulty();

/// What stands behind the faults.
const Registry& builtin();

/// What to do wrong. Message numbers are -1 for never.
struct Faults {
  std::int64_t delayNs = 0;      ///< of each arrival
  std::int64_t delayFirst = -1;  ///< only of that many first arrivals
  std::int64_t drop = -1;        ///< the event of this arrival never comes
  std::int64_t duplicate = -1;   ///< the event of this arrival comes twice
  bool reorder = false;          ///< neighbouring arrivals change places
  std::int64_t flipMessage = -1, flipByte = 0;
  std::int64_t swap = -1;        ///< the bytes of this arrival and of the next change places
  std::int64_t stallAfter = -1;  ///< nothing goes on after this message has moved
  std::int64_t failCall = -1;    ///< this call of submit or poll, counted from 0, breaks the lane
  bool shortSubmit = false;      ///< submit takes one message a call
  std::int64_t crashAfter = -1;  ///< the process raises crashSignal after this message has moved
  int crashSignal = 6;
};

Faults faultsOf(const OptionSet& options, Role role);

class FaultyLane final : public Lane {
 public:
  using Clock = std::chrono::steady_clock;

  FaultyLane(std::unique_ptr<Lane> inner, const Faults& faults, const SlotLayout& layout,
             std::byte* target)
      : inner_(std::move(inner)), faults_(faults), layout_(layout), target_(target) {}

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override;

 private:
  struct Held {
    Event event;
    Clock::time_point due;
  };

  [[nodiscard]] bool stalled() const;
  bool failsNow();
  void countMoved();
  void take(const Event& event);
  void arrive(const Event& event, const Expect& expect);
  void damage(std::int64_t number, const Expect& expect);
  void hold(const Event& event, Clock::time_point due);
  [[nodiscard]] bool moreExpected() const;

  std::unique_ptr<Lane> inner_;
  Faults faults_;
  SlotLayout layout_;
  std::byte* target_;
  std::deque<Expect> expected_;        // submitted, in order
  std::deque<Event> sent_;             // ready
  std::deque<Held> arrived_;           // in the order in which they will be reported
  std::optional<Event> waitsForNext_;  // reorder
  std::optional<Expect> lastArrival_;
  std::int64_t arrivals_ = 0, moved_ = 0, calls_ = 0;
  bool injected_ = false, innerFailed_ = false;
};

}  // namespace gdrbench::faulty
