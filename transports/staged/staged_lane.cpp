// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/staged_lane.h"

#include <fmt/format.h>

#include <array>

namespace gdrbench::staged {

StagedLane::StagedLane(const LaneSpec& spec, std::shared_ptr<const cuda::Device> device,
                       Outbound out, Inbound in, std::unique_ptr<Lane> wire, Credits credits)
    : layout_(spec.layout),
      device_(std::move(device)),
      wire_(std::move(wire)),
      credits_(std::move(credits)),
      out_(std::move(out)),
      in_(std::move(in)) {}

Accepted StagedLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  enter();
  if (failed() || !belongs(sends) || !belongs(expects)) return {};
  const Accepted accepted{out_.accept(sends), in_.accept(expects)};
  // Receives first: a reply may come before this call ends.
  in_.expect(*wire_);
  if (!out_.copy()) fail(Stage::kDeviceToHost);
  return accepted;
}

std::size_t StagedLane::poll(std::span<Event> events) noexcept {
  enter();
  if (!failed()) takeWireEvents();
  if (!failed()) drainIn();
  if (!failed()) feedOut();
  std::size_t count = out_.report(events);
  count += in_.report(events.subspan(count));
  // Not while a message is about to be handed over: credits are for quiet moments.
  if (!failed() && (count == 0 || credits_.pressing(out_.sent(), in_.done()))) exchangeCredits();
  if (count != 0 || !failed() || events.empty()) return count;
  events[0] = {Event::Kind::kFailed, 0};
  return 1;
}

/// A context is current for a thread, and the lane may have been connected by another one.
void StagedLane::enter() noexcept {
  if (entered_) return;
  entered_ = true;
  if (device_->cuda().setCurrent(device_->context()) != cuda::kSuccess) fail(Stage::kContext);
}

void StagedLane::takeWireEvents() noexcept {
  std::array<Event, 32> events;
  const std::size_t count = wire_->poll(events);
  for (std::size_t i = 0; i < count; ++i) {
    if (events[i].kind == Event::Kind::kFailed) return fail(Stage::kWire);
    const bool known = events[i].kind == Event::Kind::kSent ? out_.onSent(events[i].ticket)
                                                            : in_.onArrived(events[i].ticket);
    if (!known) return fail(Stage::kTicket);
  }
}

void StagedLane::drainIn() noexcept {
  if (!in_.copy() || !in_.settle()) return fail(Stage::kHostToDevice);
  in_.expect(*wire_);
}

void StagedLane::feedOut() noexcept {
  if (!out_.copy() || !out_.settle()) return fail(Stage::kDeviceToHost);
  out_.send(*wire_, credits_.granted());
}

void StagedLane::exchangeCredits() noexcept {
  if (!credits_.exchange(out_.sent(), in_.done()) && creditsMatter()) fail(Stage::kCredits);
}

/// A peer that has all it wants may leave while its last credits are on their way: the lane of the
/// credits then breaks, and nobody misses it. It is missed by who has more to send than there is
/// room for; and by who awaits more of a peer that is still there and may be short of room.
bool StagedLane::creditsMatter() const {
  if (out_.waits() && out_.sent() == credits_.granted()) return true;
  return in_.waits() && credits_.errorDetail().code != ErrorCode::kPeerLost;
}

bool StagedLane::belongs(std::span<const Message> messages) noexcept {
  for (const Message& message : messages) {
    if (fits(layout_, message)) continue;
    misfit_ = message;
    fail(Stage::kMessage);
    return false;
  }
  return true;
}

/// The driver tells of a failure when it is asked next: the chunk itself is not known, only how
/// many were good.
Error StagedLane::copyError(const CopyStream& copies, const char* stage) {
  return cuda::error(fmt::format("copy from {} in the staged path ({}, {} chunks were done)", stage,
                                 copies.failedCall(), copies.finished()),
                     copies.failure());
}

Error StagedLane::errorDetail() const {
  Error error;
  switch (failed_) {
    case Stage::kNone:
      break;
    case Stage::kContext:
      error.tried = "make GPU " + device_->identity().pci + " current on the thread of the lane";
      break;
    case Stage::kMessage:
      error.tried = fmt::format("take a message that fits no slot: ticket {}, slot {}, {} bytes",
                                misfit_.ticket, misfit_.slot, misfit_.bytes);
      break;
    case Stage::kDeviceToHost:
      return copyError(out_.copies(), "the GPU to pinned memory");
    case Stage::kHostToDevice:
      return copyError(in_.copies(), "pinned memory to the GPU");
    case Stage::kWire:
      error = wire_->errorDetail();
      error.tried += ", the wire of the staged path";
      break;
    case Stage::kTicket:
      error.tried =
          "follow the wire of the staged path: it reported a chunk twice, or one that it "
          "was not given";
      break;
    case Stage::kCredits:
      error = credits_.errorDetail();
      error.tried += ", the credits of the staged path";
      break;
  }
  return error;
}

}  // namespace gdrbench::staged
