// SPDX-License-Identifier: Apache-2.0
// Messages over one reliable-datagram endpoint. Private to the module.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "transports/libfabric/adapter_counters.h"
#include "transports/libfabric/objects.h"
#include "transports/libfabric/operation.h"
#include "transports/ticket_ring.h"
#include "transports/transport.h"

namespace gdrbench::libfabric {

class Region final : public MemoryRegion {
 public:
  Region(Fid<fid_mr> mr, std::byte* data, std::uint64_t bytes)
      : mr_(std::move(mr)), data_(data), bytes_(bytes) {}
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] void* descriptor() const noexcept { return fi_mr_desc(mr_.get()); }
  [[nodiscard]] std::uint64_t key() const noexcept { return fi_mr_key(mr_.get()); }

 private:
  Fid<fid_mr> mr_;
  std::byte* data_;
  std::uint64_t bytes_;
};

/// The peer, once connected.
struct Peer {
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::uint64_t target = 0,
                targetKey = 0;  ///< where to write: an address or 0, see FI_MR_VIRT_ADDR
  std::uint64_t source = 0, sourceKey = 0;  ///< where to read
  std::string name;                         ///< for errors
};

struct LaneParts {
  Objects& objects;
  Region& source;
  Region& target;
  SlotLayout layout;
  Peer peer;
  Op op = Op::kWrite;
  std::size_t injectBytes = 0;       ///< messages up to this size are injected; 0: none
  std::shared_ptr<Payload> payload;  ///< counted here, looked at by the endpoint
};

class LibfabricLane final : public Lane {
 public:
  explicit LibfabricLane(LaneParts parts);
  ~LibfabricLane() override;
  LibfabricLane(const LibfabricLane&) = delete;
  LibfabricLane& operator=(const LibfabricLane&) = delete;

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override;

  /// One message to the peer and one from it through the sync slots, so that the provider has
  /// connected both directions. `speaksFirst`: sends its own before it has polled. Cold.
  Status handshake(bool speaksFirst, Deadline deadline);

 private:
  void settle() noexcept;
  [[nodiscard]] Error connectError() const;
  [[nodiscard]] std::string peerText() const;
  enum class Kind : std::uint8_t { kSend, kReceive, kFetch, kData };
  /// One outstanding operation. The first member is the provider's to use (FI_CONTEXT,
  /// FI_CONTEXT2).
  struct Context {
    fi_context2 reserved;
    Ticket ticket;
    Kind kind;
    std::uint64_t bytes;
  };

  bool startSend(const Send& send) noexcept;
  bool startExpect(const Expect& expect) noexcept;
  bool awaitWrite(Ticket ticket) noexcept;
  bool postDataReceives() noexcept;
  /// True when the operation was started; false for back-pressure, or after noteFailure().
  bool started(ssize_t code, Context* context, const char* what) noexcept;
  Context* take(Kind kind, Ticket ticket, std::uint64_t bytes) noexcept;
  void give(Context* context) noexcept {
    --countOf(context->kind);
    free_.push_back(context);
  }
  [[nodiscard]] static bool receives(Kind kind) noexcept {
    return kind == Kind::kReceive || kind == Kind::kData;
  }
  /// A completion of this side's own operation; the context of any other is not defined.
  [[nodiscard]] bool isOwn(const void* context) const noexcept {
    const std::less<const void*> less;
    return !less(context, firstContext_) && less(context, endOfContexts_);
  }
  std::size_t& countOf(Kind kind) noexcept { return receives(kind) ? receives_ : transmits_; }
  void noteFailure(ssize_t code, const char* what) noexcept;
  void noteCqError() noexcept;
  std::size_t drainPending(std::span<Event> events) noexcept;
  /// Turns one completion into an event; false when it makes none now.
  bool translate(const fi_cq_data_entry& entry, Event& event) noexcept;
  bool translateArrival(Ticket ticket, Event& event) noexcept;
  [[nodiscard]] bool isSync(std::uint32_t slot) const noexcept { return slot == layout_.count; }
  [[nodiscard]] bool oneSided(std::uint32_t slot) const noexcept {
    return op_ == Op::kWrite || (op_ == Op::kRead && !isSync(slot));
  }

  Objects& objects_;
  fid_ep* ep_;
  fid_cq* cq_;
  Region& source_;
  Region& target_;
  void* sourceDescriptor_;
  void* targetDescriptor_;
  SlotLayout layout_;
  Peer peer_;
  Op op_;
  std::size_t injectBytes_;
  bool wantsDataReceives_;  ///< FI_RX_CQ_DATA: each arriving write consumes a posted receive
  std::size_t dataReceivesOwed_ = 0;

  const Context* firstContext_ = nullptr;
  const Context* endOfContexts_ = nullptr;
  std::vector<Context*> free_;  ///< the contexts themselves are the endpoint's, see Objects
  /// Kept below the depth of each queue by this side: some providers answer a full one with an
  /// error that is no back-pressure (shm 1.17: FI_ENOMEM).
  std::size_t transmits_ = 0, receives_ = 0;
  std::size_t transmitDepth_, receiveDepth_;
  TicketRing sent_;      ///< injected: done, not reported yet
  TicketRing expected_;  ///< writes of the peer that have not arrived
  TicketRing early_;     ///< arrived before their expect
  TicketRing arrived_;   ///< of those, expected since, not reported yet

  std::shared_ptr<Payload> payload_;

  bool failed_ = false;
  const char* failedAt_ = "";
  ssize_t failure_ = 0;
  bool fromCq_ = false;
  fi_cq_err_entry cqError_{};
  std::array<char, 256> cqText_{};
};

}  // namespace gdrbench::libfabric
