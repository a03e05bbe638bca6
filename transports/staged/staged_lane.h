// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "transports/staged/credits.h"
#include "transports/staged/inbound.h"
#include "transports/staged/outbound.h"
#include "transports/transport.h"

namespace gdrbench::staged {

/// GPU to pinned memory, wire, pinned memory to GPU: three stages that work on different chunks of
/// the same message at the same time, in both directions.
class StagedLane final : public Lane {
 public:
  StagedLane(const LaneSpec& spec, std::shared_ptr<const cuda::Device> device, Outbound out,
             Inbound in, std::unique_ptr<Lane> wire, Credits credits);

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override;

 private:
  enum class Stage : std::uint8_t {
    kNone,
    kContext,  ///< the GPU's context on this thread
    kMessage,  ///< one that fits no slot
    kDeviceToHost,
    kWire,
    kTicket,  ///< the wire reported what it was not given
    kHostToDevice,
    kCredits,
  };

  void enter() noexcept;
  void takeWireEvents() noexcept;
  void drainIn() noexcept;
  void feedOut() noexcept;
  void exchangeCredits() noexcept;
  [[nodiscard]] bool creditsMatter() const;
  bool belongs(std::span<const Message> messages) noexcept;
  void fail(Stage stage) noexcept {
    if (failed_ == Stage::kNone) failed_ = stage;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_ != Stage::kNone; }
  [[nodiscard]] static Error copyError(const CopyStream& copies, const char* stage);

  SlotLayout layout_;
  std::shared_ptr<const cuda::Device> device_;
  std::unique_ptr<Lane> wire_;
  Credits credits_;
  Outbound out_;  // after the wire: when they go, their copies end before anything else does
  Inbound in_;
  bool entered_ = false;
  Stage failed_ = Stage::kNone;
  Message misfit_{};
};

}  // namespace gdrbench::staged
