// SPDX-License-Identifier: Apache-2.0
// Two connected sides of one transport in this process, and a way to let them talk.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transports/registry.h"

namespace gdrbench::conformance {

/// What is put through the suite.
struct Subject {
  std::string transport;
  std::vector<std::pair<std::string, std::string>> options = {};
  /// It reports a peer that went away in order. Others need only not hang.
  bool noticesPeerLoss = false;
  /// This machine may lack what it needs: then the cases are skipped, with the reason.
  bool mayBeAbsent = false;
  /// Where to find it; null: among those of this build.
  const Registry* registry = nullptr;
  /// Of the initiator and of the responder.
  MemoryName memory = {}, peerMemory = {};
  /// Makes buffers in such memory, and says where the CPU finds the bytes of one; null: as for host
  /// memory.
  Buffer (*allocate)(const MemoryName& memory, std::uint64_t bytes) = nullptr;
  std::byte* (*view)(const void* data) = nullptr;
  /// What LaneSpec::peerInThisProcess says. The two sides always are threads of one process.
  bool inOneProcess = false;
  /// Its sync messages are told of and not copied: nobody reads what is in them.
  bool syncWithoutBytes = false;
};

struct Shape {
  std::uint64_t stride = 4096;
  std::uint32_t slots = 8;
  std::uint32_t window = 8;
};

/// Reasons to skip are printed, everything else is a failed assertion; in both cases null.
class Side {
 public:
  static std::unique_ptr<Side> open(const Subject& subject, const Shape& shape, Role role,
                                    const std::string& namePrefix);

  Bytes address();
  Status connect(const Bytes& peer, std::chrono::milliseconds within);
  /// Leaves: what a process that ends in order does.
  void leave();

  [[nodiscard]] Lane& lane() const { return *lane_; }
  [[nodiscard]] const Endpoint& endpoint() const { return *endpoint_; }
  [[nodiscard]] const SlotLayout& layout() const { return layout_; }
  /// The message's bytes must be found in the target buffer.
  [[nodiscard]] bool moves(const Message& message) const {
    return !syncWithoutBytes_ || message.slot != layout_.syncSlot();
  }
  [[nodiscard]] DataFlow flow() const { return flow_; }
  [[nodiscard]] std::byte* source(std::uint32_t slot) const;
  /// All bytes of the target buffer, for the CPU to look at.
  [[nodiscard]] std::span<const std::byte> target() const {
    return {view(target_.data()), target_.bytes()};
  }
  void clearTarget();

 private:
  Side(const Subject& subject, const Shape& shape, Role role, std::unique_ptr<Transport> transport);
  [[nodiscard]] std::byte* view(std::byte* data) const {
    return view_ == nullptr ? data : view_(data);
  }

  SlotLayout layout_;
  std::byte* (*view_)(const void* data);
  bool syncWithoutBytes_;
  DataFlow flow_ = DataFlow::kPush;
  std::unique_ptr<Transport> transport_;
  Buffer source_, target_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<MemoryRegion> sourceRegion_, targetRegion_;
  std::unique_ptr<Lane> lane_;
};

struct Rig {
  std::unique_ptr<Side> initiator, responder;
};

/// Opens and connects both sides; null as above.
std::unique_ptr<Rig> connectedRig(const Subject& subject, const Shape& shape);

/// Unique to a test within this process.
std::string freshPrefix();

/// What one side is to submit, and what came of it.
class Talk {
 public:
  Talk(Side& side, std::vector<Send> sends, std::vector<Expect> expects);

  /// Submits what is left and polls once.
  void step();
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool failed() const { return failed_; }

  /// Checks that every send and every expect was reported exactly once, and nothing else.
  void checkEvents() const;

  [[nodiscard]] Side& side() const { return side_; }
  [[nodiscard]] const std::vector<Expect>& expects() const { return expects_; }

 private:
  Side& side_;
  std::vector<Send> sends_;
  std::vector<Expect> expects_;
  std::size_t submittedSends_ = 0, submittedExpects_ = 0;
  std::size_t events_ = 0;
  std::map<Ticket, int> sent_, arrived_;
  bool failed_ = false;
};

/// Steps both, in turn, until both are over. Fails an assertion when one fails or after 20 s.
void run(Talk& initiator, Talk& responder);

/// Checks every byte of the target buffer of `to`: the peer's source bytes where a message was
/// expected, and what clearTarget wrote everywhere else.
void checkTarget(const Talk& to, const Side& from);

}  // namespace gdrbench::conformance
