// SPDX-License-Identifier: Apache-2.0
// The send queue of one queue pair: fills work requests, posts them as one chain, and remembers in
// order what each is to be reported as. Hot: nothing allocates after the constructor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/transport.h"
#include "transports/verbs/vendor.h"

namespace gdrbench::verbs {

/// Where a queue pair reads and writes: this side's buffers and the peer's, with their keys.
struct Memory {
  std::uint64_t source = 0, target = 0;
  std::uint32_t sourceKey = 0, targetKey = 0;
  std::uint64_t peerSource = 0, peerTarget = 0;
  std::uint32_t peerSourceKey = 0, peerTargetKey = 0;
  SlotLayout layout;
};

struct SendQueueOptions {
  ibv_qp* qp = nullptr;
  std::uint8_t index = 0;  ///< of the queue pair: comes back with its completions
  std::uint32_t depth = 1;
  std::uint32_t signalEvery = 1;
  std::uint32_t inlineBytes = 0;
  bool oneDoorbell = true;
};

class SendQueue {
 public:
  enum class Verb { kWrite, kSend, kRead };

  SendQueue(const SendQueueOptions& options, const Memory& memory);
  ~SendQueue();
  SendQueue(SendQueue&&) noexcept;

  /// False: no room, poll first.
  [[nodiscard]] bool append(Verb verb, const Message& message) noexcept;
  /// Posts what was appended: 0 or an errno value.
  [[nodiscard]] int post() noexcept;
  [[nodiscard]] bool hasChain() const noexcept { return chained_ != 0; }

  /// A completion of this queue came, with this number: everything up to it is done.
  void completeUpTo(std::uint64_t number) noexcept { completed_ = number; }
  [[nodiscard]] std::size_t report(std::span<Event> events) noexcept;

 private:
  struct Requests;  // of the vendor's types
  struct Outstanding {
    Ticket ticket;
    Event::Kind kind;
  };

  SendQueueOptions options_;
  Memory memory_;
  std::unique_ptr<Requests> requests_;
  std::size_t chained_ = 0;        ///< filled and not posted
  std::uint32_t unsignalled_ = 0;  ///< since the last one that was
  std::vector<Outstanding> ring_;
  std::size_t mask_;
  std::uint64_t appended_ = 0, completed_ = 0, reported_ = 0;  // count up for ever
};

/// Completions name their queue by their number: which queue pair, and which of its two queues.
/// Valid also where nothing else of a completion is.
struct CompletionName {
  static constexpr std::uint64_t of(std::uint64_t number, std::uint8_t index,
                                    bool receive) noexcept {
    return number << 8 | std::uint64_t{index} << 1 | (receive ? 1u : 0u);
  }
  static constexpr std::uint64_t number(std::uint64_t id) noexcept { return id >> 8; }
  static constexpr std::uint8_t index(std::uint64_t id) noexcept {
    return static_cast<std::uint8_t>(id >> 1 & 0x7f);
  }
  static constexpr bool isReceive(std::uint64_t id) noexcept { return (id & 1) != 0; }
};

}  // namespace gdrbench::verbs
