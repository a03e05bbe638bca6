// SPDX-License-Identifier: Apache-2.0
// The transport interface. Three objects:
//
//   Transport  one per worker, made by the registry: can I work here, what can I do, open
//   Endpoint   one per local device: register memory, say my address, connect
//   Lane       one conversation with one peer, used by one thread: submit, poll
//
// The order of a worker: open, registerMemory (source and target), address, [addresses are
// exchanged], connect, submit/poll ..., and everything is destroyed in reverse.
//
// Both sides cut a source and a target buffer into the same slots. A Send brings the bytes of my
// source slot to the peer's target slot of the same index and tells the peer so; an Expect
// announces such a message. With DataFlow::kPull the Expect itself fetches the peer's source slot
// into my target slot and the peer learns nothing; sync slots are always pushed. What is in a sync
// slot is read by nobody: a lane may tell of such a message without moving its bytes.
//
// submit and poll are the hot path: no allocation, lock, exception, string or system call that is
// not the transport's own way to move bytes. Everything else is cold.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "harness/evidence/observation.h"
#include "harness/memory/buffer.h"
#include "transports/capabilities.h"
#include "transports/claim.h"

namespace gdrbench {

/// Names one message for both sides. 32 bits, because that is what an RDMA immediate carries.
using Ticket = std::uint32_t;

struct Message {
  Ticket ticket = 0;
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;
};
using Send = Message;
using Expect = Message;

struct Event {
  enum class Kind : std::uint8_t {
    kSent,     ///< my source slot may be used again (no event for pulled slots)
    kArrived,  ///< the message named by the ticket lies in my target slot
    kFailed,   ///< the lane is broken; errorDetail() says why
  };
  Kind kind = Kind::kFailed;
  Ticket ticket = 0;
};

/// How many of each span submit took, from the front. Fewer is back-pressure: poll, then submit
/// the rest.
struct Accepted {
  std::size_t sends = 0;
  std::size_t expects = 0;
};

/// Offered by lanes whose operations run in an order of the device's own (a CUDA stream), beside
/// submit and poll. A pattern then enqueues a whole block without waiting for single messages: an
/// operation starts when those before it, submitted in either direction, are done, so a reply that
/// is submitted after an expect leaves after that message has arrived. The device takes the times.
class StreamDrive {
 public:
  virtual ~StreamDrive() = default;

  /// What is submitted from here to launch() may be collected and started as one (a CUDA graph). A
  /// lane that does not collect answers true and does nothing.
  virtual bool collect() noexcept = 0;
  virtual bool launch() noexcept = 0;

  /// A time mark behind all that was submitted; at most LaneSpec::marks of them until they are
  /// read.
  virtual bool mark() noexcept = 0;

  /// Cold, once everything submitted has been reported: for each mark the nanoseconds since the
  /// first one, in order; then the marks are free again. An Error when `nanoseconds` is of another
  /// size than there are marks.
  virtual Status readMarks(std::span<double> nanoseconds) = 0;
};

class Lane {
 public:
  virtual ~Lane() = default;

  /// Starts messages. What is in one call may progress together (one doorbell, one group). Expects
  /// must be submitted in the order in which the peer sends them.
  virtual Accepted submit(std::span<const Send> sends,
                          std::span<const Expect> expects) noexcept = 0;

  /// Drives progress and fills `events` from the front; answers how many. A lane reports kSent
  /// once for each send, and kArrived once for each expect and not before that expect was
  /// submitted; after kFailed nothing else is valid.
  virtual std::size_t poll(std::span<Event> events) noexcept = 0;

  /// Why the lane failed. Cold; meaningful only after a kFailed event.
  [[nodiscard]] virtual Error errorDetail() const = 0;

  /// Null for a lane that the host drives: then each message is timed by the CPU.
  [[nodiscard]] virtual StreamDrive* streamDrive() noexcept { return nullptr; }
};

/// A registered buffer. Deregisters when destroyed; the buffer must outlive it.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
};

enum class Role { kInitiator, kResponder };
std::string_view name(Role role);

/// What both sides agreed on before anything is opened.
struct LaneSpec {
  SlotLayout layout;
  std::uint64_t messageBytes = 0;  ///< the largest data message
  std::uint32_t window = 1;        ///< sends of this side that may be outstanding
  std::uint32_t marks = 0;         ///< time marks of a block; stream drive only
  bool peerOnThisHost = true;
  bool peerInThisProcess = false;  ///< its addresses are valid here
};

using Bytes = std::vector<std::byte>;
using Deadline = std::chrono::steady_clock::time_point;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  /// The buffer must be of a memory kind in Capabilities::memory.
  virtual Result<std::unique_ptr<MemoryRegion>> registerMemory(const Buffer& buffer) = 0;

  /// Opaque bytes from which the peer can connect: address, keys. At most 64 KiB.
  virtual Result<Bytes> address(const MemoryRegion& source, const MemoryRegion& target) = 0;

  /// A collective phase: both sides enter it with the other's address and it may block, until the
  /// deadline. The lane keeps references to the endpoint and both regions.
  virtual Result<std::unique_ptr<Lane>> connect(std::span<const std::byte> peerAddress,
                                                MemoryRegion& source, MemoryRegion& target,
                                                Deadline deadline) = 0;

  /// What was chosen in effect; complete after connect.
  [[nodiscard]] virtual std::vector<Claim> claims() const = 0;

  /// What the library, its options, keys and registrations show of the path that the messages took,
  /// once all of them went through. Ways are this side's: kOut is what it sent. Empty: nothing,
  /// which proves nothing.
  [[nodiscard]] virtual std::vector<evidence::Observation> observations() const { return {}; }
};

struct OpenRequest {
  Role role = Role::kInitiator;
  OptionSet options;  ///< of this transport's table, complete
  LaneSpec lane;
  MemoryName memory, peerMemory;
  /// Every name that outlives a crash (shared memory, socket files) must begin with this: it is
  /// unique to the case, and who started the worker removes what is left of it.
  std::string namePrefix;
  Deadline deadline;
};

/// One thing that a transport could use on this machine: a provider, a device, an interface.
struct Device {
  std::string name;
  std::string detail;
  std::optional<Error> problem;  ///< absent: usable
};

/// The vendor's library that a transport stands on, as it was found here.
struct LibraryInfo {
  std::string name;          ///< as people call it
  std::string version;       ///< of what was loaded
  std::string headers;       ///< version that this program was built with; empty: without headers
  std::string path;          ///< of the file that was loaded
  std::optional<bool> cuda;  ///< it was built to handle GPU memory; nothing: does not apply
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// What there is on this machine and whether it works (opened, not merely listed). An Error when
  /// the transport as a whole cannot work here. May load vendor libraries.
  virtual Result<std::vector<Device>> probe() = 0;

  /// Loads it if need be. Nothing where there is none; an Error when it cannot be loaded.
  [[nodiscard]] virtual Result<std::optional<LibraryInfo>> vendorLibrary() {
    return std::optional<LibraryInfo>();
  }

  [[nodiscard]] virtual Capabilities capabilities(const OptionSet& options) const = 0;

  virtual Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) = 0;
};

}  // namespace gdrbench
