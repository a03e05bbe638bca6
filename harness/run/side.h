// SPDX-License-Identifier: Apache-2.0
// One side of one case, from the conductor's order to the tear-down.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/bootstrap/channel.h"
#include "harness/core/clock.h"
#include "harness/core/result.h"
#include "harness/measure/runner.h"
#include "harness/memory/memory_space.h"
#include "harness/patterns/guard.h"
#include "harness/patterns/pattern.h"
#include "harness/report/document.h"
#include "harness/run/block_runner.h"
#include "harness/run/case.h"
#include "harness/run/frozen_peer.h"
#include "harness/run/path_watch.h"
#include "harness/run/side_cpus.h"
#include "harness/run/wire.h"
#include "harness/run/worker.h"
#include "transports/registry.h"
#include "transports/transport.h"

namespace gdrbench {

class Side {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Side(const Registry& registry, Channel& channel, PhaseHook hook)
      : registry_(registry), channel_(channel), hook_(hook) {}

  /// Says who this is, and takes the case, on which both must agree.
  Status greet();
  /// Instead of greet(): goes on for the other side of the same case, whose channel this is.
  void takeOverFrom(const Side& other);

  /// The case from here on; answers the exit status. A failure is told to the conductor.
  int run();
  /// Tells it, with what is known so far; answers the exit status.
  int fail(Error error);

  [[nodiscard]] bool sharesProcess() const { return can_.oneProcess; }
  [[nodiscard]] Role role() const { return assign_.role; }
  [[nodiscard]] std::string loanName() const { return assign_.namePrefix + "loan"; }
  [[nodiscard]] TimePoint deadline() const { return deadline_; }

 private:
  class Blocks;

  Status work();
  void adopt();

  Status setUp();
  Status pin();
  Status allocate();
  Status openTransport();
  Status registerBuffers();
  Status exchangeAddresses();
  Status connect();

  Status measureOrServe();
  Status initiate();
  void takeOver(const Measurement& measured);
  Status serve();
  Status testFrozenPeer();
  Status probeFrozen(FrozenPeer& test);
  Status standStill(FrozenPeer& test);
  Status close();

  Status enter(std::string_view phase);
  Status expectMessage(MessageType type);
  Status expectStep(FrozenStep::Kind kind);
  [[nodiscard]] report::DataCheck checkSoFar() const;
  void fact(std::string key, std::string value);

  [[nodiscard]] bool isInitiator() const { return assign_.role == Role::kInitiator; }
  [[nodiscard]] const MemoryName& memory() const;
  [[nodiscard]] const MemoryName& peerMemory() const;

  const Registry& registry_;
  Channel& channel_;
  PhaseHook hook_;
  std::string phase_ = "start";
  wire::Assign assign_;
  std::string digest_;
  TimePoint deadline_;
  std::optional<Clock> clock_;
  SideCpus cpus_;
  BlockPlan plan_;
  Capabilities can_;
  report::Run partial_;

  // Made in this order, and gone in the reverse one.
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<MemorySpace> space_;
  std::optional<Buffer> source_, target_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<MemoryRegion> sourceRegion_, targetRegion_;
  Bytes peerAddress_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Pattern> pattern_;
  std::optional<Guard> guard_;
  std::optional<BlockRunner> blocks_;
  std::optional<PathWatch> watch_;
};

}  // namespace gdrbench
