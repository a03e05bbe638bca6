// SPDX-License-Identifier: Apache-2.0
// Messages over reliable connected queue pairs that share one completion queue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/arrivals.h"
#include "transports/verbs/async_watch.h"
#include "transports/verbs/memory.h"
#include "transports/verbs/vendor.h"

namespace gdrbench::verbs {

enum class Op { kWrite, kSend, kRead };

struct LaneParts {
  Op op = Op::kWrite;
  ibv_cq* cq = nullptr;
  std::vector<ibv_qp*> queuePairs;
  Memory memory;
  std::uint32_t sendDepth = 1, receiveDepth = 1, signalEvery = 1, inlineBytes = 0;
  bool oneDoorbell = true;
  const AsyncWatch* watch = nullptr;
  std::string where, peer;  ///< for errors: "port 1 of mlx5_0", and the peer's text
  /// Called at the end: from then on no device may touch the buffers.
  std::function<void()> stop;
};

class VerbsLane final : public Lane {
 public:
  explicit VerbsLane(LaneParts parts);
  ~VerbsLane() override;
  VerbsLane(const VerbsLane&) = delete;
  VerbsLane& operator=(const VerbsLane&) = delete;

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override;

  /// Posts the receives that must be there before the peer's first message. Cold, as all below.
  Status prepare();

  /// One message to the peer and one from it through the sync slot, the initiator's first: then
  /// both queue pairs are known to work, both ways.
  Status hello(Role role, Deadline deadline);

 private:
  struct Pair;
  /// The first thing that went wrong; put into words only when somebody asks.
  struct Failure {
    enum class At : std::uint8_t {
      kNowhere,
      kPostSend,
      kPostReceive,
      kPoll,
      kCompletion,
      kLength,
      kEvent
    };
    At at = At::kNowhere;
    int code = 0;
    std::uint32_t vendorError = 0;
    bool receive = false;
    Ticket ticket = 0;
    std::uint64_t bytes = 0, expectedBytes = 0;
  };

  [[nodiscard]] bool isSync(const Message& message) const noexcept {
    return message.slot == layout_.count;
  }
  [[nodiscard]] bool failed() const noexcept { return failure_.at != Failure::At::kNowhere; }

  /// Whose turn is next.
  void advance(Pair*& turn) const noexcept;
  [[nodiscard]] bool startExpect(const Expect& expect) noexcept;
  [[nodiscard]] bool startSend(const Send& send) noexcept;
  void ringDoorbells(Pair& pair) noexcept;
  /// The message that arrived, if it is to be reported now.
  [[nodiscard]] bool takeArrival(const ibv_wc& completion, Pair& pair, Ticket& ticket) noexcept;

  // The rest of a poll that found nothing, or that has more to tell than what it found. `n` events
  // are there.
  [[nodiscard]] std::size_t idle(int count, std::span<Event> events, std::size_t n) noexcept;
  [[nodiscard]] std::size_t finish(std::span<Event> events, std::size_t n) noexcept;
  [[nodiscard]] std::size_t report(std::span<Event> events) noexcept;
  /// Posts as many blank receives as there is room for, if that is at least so many.
  void fillReceives(std::size_t least) noexcept;

  // Cold: not to be inlined into the above.
  void fail(const Failure& failure) noexcept;
  void failedCall(Failure::At at, int code) noexcept;
  void failedCompletions(std::span<const ibv_wc> completions) noexcept;
  void wrongLength(const Expect& expect, std::uint64_t bytes) noexcept;
  /// Waits for the completion that says why everything else is flushed.
  void lookForCause() noexcept;
  [[nodiscard]] std::string operation(bool receive) const;
  [[nodiscard]] Error connectError(const Error& cause) const;

  Op op_;
  ibv_cq* cq_;
  SlotLayout layout_;
  const AsyncWatch* watch_;
  std::vector<Pair> pairs_;
  Pair *firstPair_ = nullptr, *behindPairs_ = nullptr;
  /// Data takes turns, in step on both sides; sync messages keep to the first queue pair.
  Pair *sendTurn_ = nullptr, *expectTurn_ = nullptr;
  std::vector<ibv_wc> completions_;  ///< room for a call
  Arrivals arrivals_;
  bool special_ = false;                 ///< failed, or there may be something for report()
  std::size_t refillAt_, refillBusyAt_;  ///< missing receives, when idle and when busy
  Failure failure_;
  std::string where_, peer_;
  std::function<void()> stop_;
};

/// True when nobody answered, which a peer that is not there yet explains.
bool isSilence(const Error& error);

}  // namespace gdrbench::verbs
